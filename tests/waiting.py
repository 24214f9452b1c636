"""Waits of tests are for events, and have one limit, which no machine reaches by being slow."""

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import Any

PATIENCE_S = 150.0  # half of what pytest gives a test
PAUSE_S = 0.02


def wait_until(holds: Callable[[], Any]) -> Any:
    """The first true value of `holds`. Raises AssertionError that says where it is, once patience is over."""
    end = time.monotonic() + PATIENCE_S
    while not (value := holds()):
        assert time.monotonic() < end, _never(holds)
        time.sleep(PAUSE_S)
    return value


async def until(holds: Callable[[], Any]) -> Any:
    """As `wait_until`, on an event loop; what `holds` gives may be awaited."""
    end = time.monotonic() + PATIENCE_S
    while True:
        value = holds()
        if inspect.isawaitable(value):
            value = await value
        if value:
            return value
        assert time.monotonic() < end, _never(holds)
        await asyncio.sleep(PAUSE_S)


def _never(holds: Callable[[], Any]) -> str:
    code = getattr(holds, "__code__", None)
    place = f"{code.co_filename}:{code.co_firstlineno}" if code else repr(holds)
    return f"waited {PATIENCE_S:g} s for what {place} asks for"
