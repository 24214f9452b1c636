"""The host's side of the guest: its calls over a unix socket, many at once."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any

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
