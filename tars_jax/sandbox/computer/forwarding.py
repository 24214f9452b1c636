"""Port forwarding: one address outside, reached from a computer that has no network by a port inside whose connections
lead there.

    async with PortForward(computer.machine, "127.0.0.1", 8000) as forward:
        await computer.machine.run(["curl", f"http://127.0.0.1:{forward.port}/health"])

Programs inside choose nothing of where a connection leads. It ends with the computer, or with `async with`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Self

from tars_jax import InputError
from tars_jax.sandbox.computer.guest.forward import CLOSED, DATA, ENDED, HEAD, LISTENING, OPENED, PIECE
from tars_jax.sandbox.computer.guest_client import GuestError, Streams
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.failures import SandboxFailure

Open = Callable[[], Awaitable[Streams]]
MOST_CONNECTIONS = 256  # at one time; further ones are closed at once
LONGEST_FRAME = 1 << 20
START_S, END_S = 30.0, 5.0


class PortForward:
    """An async context manager. `port`: that programs inside connect to, at 127.0.0.1."""

    def __init__(
        self, machine: GuestMachine, host: str, port: int, *, at: int = 0, open: Open | None = None
    ) -> None:  # fmt: skip
        """`at`: the port inside; 0: any that is free.

        `open`: makes a connection in the place of one to host and port of this machine's.
        """
        self._machine = machine
        self._open = open or (lambda: asyncio.open_connection(host, port))
        self.port = at  # once it is entered, that there is
        self._connections: dict[int, asyncio.Queue[bytes | None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._writing = asyncio.Lock()
        self._writer: asyncio.StreamWriter | None = None
        self._process = 0  # inside, that listens
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    def between(cls, machine: GuestMachine, other: GuestMachine, port: int) -> Self:
        """A port of another computer, at the same number."""
        return cls(machine, "", 0, at=port, open=lambda: other.connect(port))

    async def __aenter__(self) -> Self:
        """Opens the port. Raises SandboxFailure."""
        machine = self._machine
        self._process, (reader, self._writer) = await machine.pipe(
            [machine.python, "-I", "-S", f"{machine.folder}/forward.py", str(self.port)], longest_line=LONGEST_FRAME
        )
        try:
            async with asyncio.timeout(START_S):
                _, kind, said = await _frame(reader)
            if kind != LISTENING:
                raise ValueError(f"it said {kind}")
            self.port = int(said)
        except (OSError, EOFError, ValueError, TimeoutError) as error:
            self._writer.close()
            raise SandboxFailure("guest", f"no port could be had inside: {error or type(error).__name__}") from error
        self._reading = self._do(self._read(reader))
        return self

    @property
    def is_open(self) -> bool:
        """Whether programs inside can still connect: they may have ended the one that listens."""
        return self._reading is not None and not self._reading.done()

    async def __aexit__(self, *_: object) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        assert self._writer is not None
        self._writer.close()
        with contextlib.suppress(GuestError, SandboxFailure):  # then nobody connects any more
            await self._machine.wait(self._process, END_S)

    def _do(self, work: asyncio._CoroutineLike[None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _read(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError, EOFError, ValueError):
            while True:
                number, kind, data = await _frame(reader)
                if kind == OPENED and len(self._connections) >= MOST_CONNECTIONS:
                    await self._say(number, CLOSED)
                elif kind == OPENED:
                    self._connections[number] = asyncio.Queue()
                    self._do(self._connect(number, self._connections[number]))
                elif (incoming := self._connections.get(number)) is not None:
                    incoming.put_nowait(data if kind == DATA else None)

    async def _connect(self, number: int, incoming: asyncio.Queue[bytes | None]) -> None:
        """One connection, until the outside has ended it or the inside is gone."""
        with contextlib.suppress(OSError, InputError):
            try:
                reader, writer = await self._open()
                try:
                    sending = asyncio.ensure_future(_send(incoming, writer))
                    try:
                        while data := await reader.read(PIECE):
                            await self._say(number, DATA, data)
                    finally:
                        sending.cancel()
                finally:
                    writer.close()
            finally:
                del self._connections[number]
                await self._say(number, ENDED)

    async def _say(self, number: int, kind: int, data: bytes = b"") -> None:
        assert self._writer is not None
        async with self._writing:
            self._writer.write(HEAD.pack(number, kind, len(data)) + data)
            await self._writer.drain()


async def _send(incoming: asyncio.Queue[bytes | None], writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while (data := await incoming.get()) is not None:
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


async def _frame(reader: asyncio.StreamReader) -> tuple[int, int, bytes]:
    """Raises EOFError at the end, ValueError for what is none."""
    number, kind, size = HEAD.unpack(await reader.readexactly(HEAD.size))
    if size > LONGEST_FRAME or kind not in (LISTENING, OPENED, DATA, ENDED, CLOSED):
        raise ValueError(f"a frame of kind {kind} and {size} bytes")
    return number, kind, await reader.readexactly(size)
