"""Streams to ports and sockets of the inside, which a live copy of a computer ends."""

from __future__ import annotations

import asyncio


class Interrupted(ConnectionError):
    """A connection into a computer was ended, as its programs were copied or put aside. It may be made again."""


class InterruptibleStream:
    """A link whose reader says why it has ended."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def detach(self) -> None:
        if not self._writer.is_closing():
            self._reader.set_exception(Interrupted("the connection was ended for a live copy of its computer"))
            self._writer.transport.abort()

    async def attach(self) -> None:
        """Who wants another one makes it."""
