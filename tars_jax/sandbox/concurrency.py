"""Loops that serve everybody, where what one session raises is logged and the others are served; and work that is
finished or undone when it is cancelled."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")
log = logging.getLogger(__name__)


async def run_every(seconds: float, work: Callable[[], Awaitable[object]], what: str) -> None:
    """Does the work again and again, until it is cancelled."""
    while True:
        await asyncio.sleep(seconds)
        try:
            await work()
        except Exception:
            log.exception("%s failed, and goes on", what)


async def for_each(things: Iterable[T], work: Callable[[T], Awaitable[object]], name: Callable[[T], str]) -> None:
    """Does the work for all at once. None waits for another, and what one raises is logged with its name."""

    async def one(thing: T) -> None:
        try:
            await work(thing)
        except Exception:
            log.exception("%s: it goes on without", name(thing))

    await asyncio.gather(*map(one, things))


async def finish_or_undo(work: Coroutine[Any, Any, T], undo: Callable[[T], Awaitable[object]]) -> T:
    """The result of the work. Where this is cancelled, the work goes on to its end, its result is undone, and the
    cancellation goes on: threads and the kernel cannot be stopped half-way."""
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
