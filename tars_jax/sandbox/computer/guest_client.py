"""The host's side of the guest: its calls over a unix socket, many at once, and the machine that they make."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

from tars_jax import InputError
from tars_jax.sandbox.computer.adopting import peer_of as peer_of
from tars_jax.sandbox.computer.connection_tracker import ConnectionTracker, InterruptibleStream
from tars_jax.sandbox.computer.guest import frames
from tars_jax.sandbox.computer.guest.processes import NO_PROGRAM
from tars_jax.sandbox.computer.inside import connect_to as connect_to
from tars_jax.sandbox.computer.recording import CallRecording
from tars_jax.sandbox.failures import SandboxFailure

CALL_TIMEOUT_S = 30.0  # beyond what a call asks the guest to wait
CONNECT_TIMEOUT_S = 20.0
LONGEST_LINE = 1 << 16  # bytes
LEAVES, LEAVES_S = 20, 0.02  # how often it is asked whether all connections have gone, and the pause between
LEASE = "lease"  # the code of what a guest refuses because it is leased to another, or the lease is over
POLL_S = 30.0  # the guest is asked again, so that one that is gone is noticed

Connect = Callable[[], Awaitable[socket.socket]]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class GuestError(InputError):
    """A call that cannot be carried out: a file that is not there, a program that cannot be started, a full disk.

    `code` is the name of an errno, or "input" for an argument that makes no sense.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    @property
    def is_no_program(self) -> bool:
        """Whether the program that was to be started is not there, or is none."""
        return self.code == "input" and str(self).partition(" ")[2].startswith(NO_PROGRAM)


@contextlib.contextmanager
def naming(**fields: str) -> Iterator[None]:
    """What the guest says of its own `argv` and `cwd`, with the names that a client has: naming(cwd="folder")."""
    try:
        yield
    except GuestError as error:
        word, blank, rest = str(error).partition(" ")
        if error.code != "input" or word not in fields:
            raise
        raise GuestError(error.code, f"{fields[word]}{blank}{rest}") from error


class HasFiles(Protocol):
    """A container, as far as the host's side of its guest needs one."""

    def host_path(self, path: str) -> Path: ...


@dataclasses.dataclass(frozen=True)
class Ran:
    """Output and exit status of a program that was run to its end."""

    status: int  # its exit status, minus the signal's number if one ended it
    stdout: bytes
    stderr: bytes
    stdout_cut: int = 0  # bytes missing in the middle of stdout
    stderr_cut: int = 0
    timed_out: bool = False  # it was killed


class GuestClient:
    """Calls of one guest. A broken connection is made again by the next call; calls that were on their way fail."""

    def __init__(self, connect: Connect, token: str = "", pid: int | None = None) -> None:
        """`connect`: to the guest's socket. `pid`: the guest's process, as the host counts; another that answers in
        its place, because a program inside has moved the socket away, is refused.
        """
        self._connect_socket, self._token, self._pid = connect, token, pid
        self.recording: CallRecording | None = None  # of what is called; None: nobody wants one
        self.lease = ""  # the word of a lease that connections act by (remote_guest.py); empty: there are none
        self.links = ConnectionTracker()
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[tuple[dict[str, Any], bytes]]] = {}
        self._ids = itertools.count(1)
        self._turn = asyncio.Lock()

    async def call(
        self, call: str, data: bytes = b"", *, patience_s: float = CALL_TIMEOUT_S, **arguments: Any
    ) -> tuple[dict[str, Any], bytes]:
        """Calls the guest and returns its answer, values and bytes. `patience_s`: how long the call may take.

        Raises GuestError for what cannot be, SandboxFailure where the guest is gone or does not answer.
        """
        number = next(self._ids)
        try:
            frame = frames.pack({**arguments, "id": number, "call": call}, data)
        except (frames.FrameError, TypeError, ValueError) as error:
            raise GuestError("input", f"arguments of {call} must be JSON of an ordinary size; got {error}") from error
        async with self._on_its_way(call):
            recorded = self.recording.begun(call, arguments, data) if self.recording else -1
            try:
                async with asyncio.timeout(patience_s):
                    answer = await self._ask(number, frame)
            except TimeoutError as error:
                raise SandboxFailure("timeout", f"the guest did not answer {call} in {patience_s:g} s") from error
            except OSError as error:
                raise SandboxFailure("guest", f"the guest is gone: {error or type(error).__name__}") from error
            except GuestError as error:
                if self.recording:
                    self.recording.ended(recorded, error.code, b"")
                raise
            if self.recording:
                self.recording.ended(recorded, *answer)
            return answer

    @contextlib.asynccontextmanager
    async def _on_its_way(self, call: str) -> AsyncIterator[None]:
        if self.links.why_away:
            raise GuestError("input", f"{call} must wait: {self.links.why_away}")
        async with self.links.in_use(call):
            yield

    @contextlib.asynccontextmanager
    async def quiesced(self) -> AsyncIterator[None]:
        """Within the block nothing connects host and guest: calls that are on their way have ended, new ones wait.

        Parts let go of what they have open and take it up again; streams to ports end, as `Interrupted`. Raises
        SandboxFailure where another stream is open, or calls take too long; InputError while a cell is running.
        """
        async with self.links.quiesced():
            try:
                async with asyncio.timeout(CALL_TIMEOUT_S):
                    await self._ask(0, frames.pack({"id": 0, "call": "part"}))
                    for _ in range(LEAVES):
                        left, _ = await self._ask(0, frames.pack({"id": 0, "call": "leave"}))
                        if self._reading is not None:
                            await asyncio.wait([self._reading])
                        if not left["connections"]:
                            break
                        await asyncio.sleep(LEAVES_S)  # one that has just been closed is there a moment longer
            except TimeoutError as error:
                raise SandboxFailure("timeout", "the guest did not answer, which a copy waits for") from error
            except OSError as error:
                raise SandboxFailure("guest", f"the guest is gone: {error or type(error).__name__}") from error
            if left["connections"]:
                raise SandboxFailure(
                    "container", f"a session with open streams cannot be copied live; got {left['connections']}"
                )
            yield

    def move(self, connect: Connect, pid: int | None) -> None:
        """The guest is to be found elsewhere from now on, with all that it knew."""
        self._connect_socket, self._pid = connect, pid

    async def _ask(self, number: int, frame: bytes) -> tuple[dict[str, Any], bytes]:
        async with self._turn:
            if self._writer is None:
                await self._connect()
            writer = self._writer
            assert writer is not None
            answered = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            writer.write(frame)
            await writer.drain()
            message, data = await answered
        finally:
            self._waiting.pop(number, None)
            answered.cancel()
        if error := message.get("error"):
            raise _raised(error)
        return message["ok"], data

    async def _connect(self) -> None:
        reader, writer = await self._open()
        self._writer = writer
        self._reading = asyncio.create_task(self._read(reader, writer))

    async def _open(self, longest_line: int = LONGEST_LINE) -> Streams:
        """A connection that the guest knows."""
        peer = await self._connect_socket()
        if self._pid is not None and peer_of(peer) != self._pid:
            peer.close()
            raise ConnectionError("another program listens in its place")
        reader, writer = await asyncio.open_connection(sock=peer, limit=longest_line)
        try:
            leased = {"lease": self.lease} if self.lease else {}
            await _exchange(reader, writer, {"id": 0, "call": "hello", "token": self._token, **leased})
        except BaseException:
            writer.close()
            raise
        return reader, writer

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        why: OSError = ConnectionError("it closed the connection")
        try:
            while True:
                message, data = await _received(reader)
                if (waiting := self._waiting.get(message.get("id") or 0)) and not waiting.done():
                    waiting.set_result((message, data))
        except (OSError, ValueError, frames.FrameError) as error:
            why = ConnectionError(str(error) or "it closed the connection")
        finally:
            writer.close()
            if self._writer is writer:
                self._writer = None
                for waiting in self._waiting.values():
                    if not waiting.done():
                        waiting.set_exception(why)

    async def stream(
        self, call: str, *, longest_line: int = LONGEST_LINE, **arguments: Any
    ) -> tuple[dict[str, Any], Streams]:
        """A connection of its own that becomes a stream of bytes: calls `connect` and `pipe` of the guest.

        Close its writer after use. Raises as `call`.
        """
        if self.recording:
            self.recording.whole = False  # what goes through a stream is not seen here
        try:
            async with self._on_its_way(call), asyncio.timeout(CALL_TIMEOUT_S):
                reader, writer = await self._open(longest_line)
                try:
                    return await _exchange(reader, writer, {**arguments, "id": 1, "call": call}), (reader, writer)
                except BaseException:
                    writer.close()
                    raise
        except TimeoutError as error:
            raise SandboxFailure("timeout", f"the guest did not answer {call} in {CALL_TIMEOUT_S:g} s") from error
        except OSError as error:
            raise SandboxFailure("guest", f"the guest is gone: {error or type(error).__name__}") from error

    async def connect(self, **arguments: Any) -> Streams:
        """A stream to a port or a socket. A live copy ends it: what is read then raises Interrupted."""
        reader, writer = (await self.stream("connect", **arguments))[1]
        passing = InterruptibleStream(reader, writer)
        self.links.add(passing)
        asyncio.ensure_future(writer.wait_closed()).add_done_callback(lambda closed: self._forget(passing, closed))
        return reader, writer

    def _forget(self, passing: InterruptibleStream, closed: asyncio.Future[None]) -> None:
        self.links.remove(passing)
        if not closed.cancelled():
            closed.exception()  # the reader has said it

    @property
    def is_connected(self) -> bool:
        return self._writer is not None

    async def close(self) -> None:
        """The connection alone: the guest and its programs live on."""
        if self._reading is not None:
            self._reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reading


def _words(argv: Sequence[str]) -> list[str]:
    if isinstance(argv, str | bytes):
        raise InputError(f"argv must be a list of words, such as ['ls', '-l']; got {argv!r}")
    return list(argv)


class GuestMachine:
    """A `Machine` by its guest. Use as an async context manager, which waits until the guest answers."""

    def __init__(self, client: GuestClient, container: HasFiles) -> None:
        self.client, self._container = client, container
        self.links = client.links
        self._home = "/"
        self.variables: Mapping[str, str] = {}  # of all programs that are started from now on
        self.folder = self.python = ""  # where the guest's own files are inside, and the Python that runs it

    async def __aenter__(self) -> Self:
        """Raises SandboxFailure for a guest that does not answer in CONNECT_TIMEOUT_S."""
        hello, _ = await self.client.call("hello", patience_s=CONNECT_TIMEOUT_S)
        self._home, self.folder, self.python = hello["home"], hello["folder"], hello["python"]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()

    @property
    def home(self) -> str:
        return self._home

    def host_path(self, path: str) -> Path:
        return self._container.host_path(path)

    def _with(self, env: Mapping[str, str] | None) -> dict[str, str]:
        return {**self.variables, **(env or {})}

    async def start(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | None = None,
        output: str | None = None,
    ) -> int:  # fmt: skip
        arguments: dict[str, Any] = {"argv": _words(argv), "env": self._with(env), "cwd": cwd, "output": output}
        started, _ = await self.client.call("start", **arguments)
        return started["process"]

    async def wait(self, process: int, timeout_s: float | None = None) -> int | None:
        clock = asyncio.get_running_loop().time
        end = None if timeout_s is None else clock() + timeout_s
        while True:
            rest = POLL_S if end is None else min(max(end - clock(), 0.0), POLL_S)
            ended, _ = await self.client.call(
                "wait", process=process, timeout_s=rest, patience_s=rest + CALL_TIMEOUT_S
            )  # fmt: skip
            if ended["status"] is not None:
                return ended["status"]
            if end is not None and clock() >= end:
                return None

    async def kill(self, process: int, number: int = signal.SIGKILL) -> None:
        await self.client.call("kill", process=process, signal=number)

    async def run(
        self, argv: Sequence[str], stdin: bytes = b"", *, env: Mapping[str, str] | None = None, cwd: str | None = None,
        root: str | None = None, timeout_s: float = 120.0, limit: int = 1 << 20, merge: bool = False,
    ) -> Ran:  # fmt: skip
        """Runs a program to its end. Its process group is killed after `timeout_s`, and where this call is cancelled.

        `limit`: bytes that are kept of stdout and of stderr, from their beginning and end. `merge`: stderr goes where
        stdout goes. With `root`, no link may lead `cwd` out of that folder. What the program leaves in the background
        goes on, unheard. Raises as `start`.
        """
        name = secrets.token_hex(8)
        try:
            answer, data = await self.client.call(
                "run", stdin, name=name, argv=_words(argv), env=self._with(env), cwd=cwd, root=root,
                timeout_s=timeout_s, limit=limit, merge=merge, patience_s=timeout_s + CALL_TIMEOUT_S,
            )  # fmt: skip
        except asyncio.CancelledError:
            if self.client.is_connected:
                with contextlib.suppress(GuestError, SandboxFailure):
                    await asyncio.shield(self.client.call("end_run", name=name))
            raise
        (head, stdout_cut, tail), (_, stderr_cut, _) = answer["stdout"], answer["stderr"]
        return Ran(
            answer["status"], data[: head + tail], data[head + tail :], stdout_cut, stderr_cut, answer["timed_out"]
        )

    async def connect(self, target: int | str) -> Streams:
        """A stream to a port of the inside, or to a unix socket by its path there.

        Raises GuestError where nothing answers.
        """
        if isinstance(target, int):
            return await self.client.connect(port=target)
        return await self.client.connect(path=target)

    async def pipe(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | None = None,
        longest_line: int = LONGEST_LINE, kept: bool = False,
    ) -> tuple[int, Streams]:  # fmt: skip
        """Starts a program whose stdin and stdout are the stream; its id inside. Raises as `start`.

        `longest_line`: bytes that `readline` and `readuntil` of the stream take. `kept`: the program does not hear of
        the stream's end, and `attach` makes another one.
        """
        started, streams = await self.client.stream(
            "pipe", longest_line=longest_line, argv=_words(argv), env=self._with(env), cwd=cwd, kept=kept
        )
        return started["process"], streams

    async def attach(self, process: int, *, longest_line: int = LONGEST_LINE) -> Streams:
        """The stream of a program that `pipe` has started as `kept`: what it said to nobody comes first.

        Whoever had a stream to it has it no more. Raises GuestError for one that has ended.
        """
        return (await self.client.stream("attach", longest_line=longest_line, process=process))[1]


async def _received(reader: asyncio.StreamReader) -> tuple[dict[str, Any], bytes]:
    """Raises OSError at the stream's end."""
    try:
        text, data = frames.unpack_head(await reader.readexactly(frames.HEAD.size))
        return frames.parse(await reader.readexactly(text)), await reader.readexactly(data)
    except asyncio.IncompleteReadError as error:
        raise ConnectionError("it closed the connection") from error


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, message: dict[str, Any]
) -> dict[str, Any]:
    writer.write(frames.pack(message))
    answer, _ = await _received(reader)
    if error := answer.get("error"):
        raise _raised(error)
    return answer["ok"]


def _raised(error: Mapping[str, Any]) -> Exception:
    if error["code"] == LEASE:
        return SandboxFailure("held", error["message"])
    return GuestError(error["code"], error["message"])
