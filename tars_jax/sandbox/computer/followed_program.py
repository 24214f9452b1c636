"""A program inside a computer whose lines are kept out here: nothing that an agent does can change what was said."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Self

from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.failures import SandboxFailure

LONGEST_LINE = 8 << 20  # bytes
MOST_LINES, MOST_BYTES = 2000, 64 << 20  # of one program; what it says then is lost


class FollowedProgram:
    """A program whose lines are read while it runs, until `close`."""

    def __init__(self, process: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.process, self._writer = process, writer
        self._lines: list[bytes] = []
        self._more = asyncio.Condition()
        self._ended = False
        self._reading = asyncio.create_task(self._read(reader))

    @classmethod
    async def start(cls, machine: GuestMachine, program: str, *arguments: str, stdin: bytes = b"") -> Self:
        """A program in Python, by its text. Raises InputError, SandboxFailure."""
        argv = [machine.python, "-I", "-S", "-c", program, *arguments]
        process, (reader, writer) = await machine.pipe(argv, longest_line=LONGEST_LINE)
        told = cls(process, reader, writer)
        try:
            writer.write(stdin)
            await writer.drain()
        except OSError as error:
            await told.close()
            raise SandboxFailure("guest", f"a program took no input: {error}") from error
        return told

    async def lines(self, after: int = 0, timeout_s: float = 0.0) -> list[bytes]:
        async with self._more:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self._more.wait_for(lambda: len(self._lines) > after or self._ended)
            return self._lines[after:]

    async def _read(self, reader: asyncio.StreamReader) -> None:
        size = 0
        with contextlib.suppress(OSError, ValueError):
            while line := await reader.readline():
                async with self._more:
                    if len(self._lines) < MOST_LINES and size + len(line) <= MOST_BYTES:
                        self._lines.append(line)
                        size += len(line)
                        self._more.notify_all()
        async with self._more:
            self._ended = True
            self._more.notify_all()

    async def close(self) -> None:
        self._reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._reading
        self._writer.close()
