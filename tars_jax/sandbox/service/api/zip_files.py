"""A .zip file of any size as a response: packed on the disk, sent in pieces."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable
from typing import IO

PIECE = 1 << 20  # bytes that are in memory


async def packed(pack: Callable[[IO[bytes]], None]) -> IO[bytes]:
    """On the disk, open at its end: a long recording is larger than what a service may hold in memory."""
    with contextlib.ExitStack() as unless_packed:
        file = unless_packed.enter_context(tempfile.TemporaryFile())
        await asyncio.to_thread(pack, file)
        unless_packed.pop_all()
    return file


async def pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    with file:
        file.seek(0)
        while piece := await asyncio.to_thread(file.read, PIECE):
            yield piece
