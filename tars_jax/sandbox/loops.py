"""Loops that serve everybody: what one thing that they look at raises is logged, and the others are served."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
log = logging.getLogger(__name__)


async def every(seconds: float, work: Callable[[], Awaitable[object]], what: str) -> None:
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
