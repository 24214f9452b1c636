"""Work that is done whole or undone: who is cancelled in its middle leaves nothing of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def done_or_undone(work: Coroutine[Any, Any, T], undo: Callable[[T], Awaitable[object]]) -> T:
    """What the work comes to. Where this is cancelled, the work goes on to its end, what it made is undone, and the
    cancellation goes on: threads and the kernel cannot be stopped half-way.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.shield(_undone(task, undo))
        raise


async def _undone(task: asyncio.Future[T], undo: Callable[[T], Awaitable[object]]) -> None:
    await asyncio.wait([task])
    if not task.cancelled() and task.exception() is None:
        await undo(task.result())
