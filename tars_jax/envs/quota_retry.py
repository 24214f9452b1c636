"""Room for one session more with a sandbox service, whose owners have a quota each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tars_jax.sandbox.failures import QuotaExceeded, SandboxFailure

PATIENCE_S = 60.0  # for other sessions of the owner to end, within the time of a reset
PAUSE_S = 0.5
T = TypeVar("T")


async def retry_on_quota(work: Callable[[], Awaitable[T]], give_up_one: Callable[[], Awaitable[None]]) -> T:
    """Result of `work`, after the owner has room for one more session.

    `give_up_one` ends a session that nobody needs just now, where there is one. Raises SandboxFailure("held") where
    patience is over, and what `work` raises.
    """
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return await work()
        except QuotaExceeded as error:
            if time.monotonic() > until:
                raise SandboxFailure("held", f"there was no room for {PATIENCE_S:g} s: {error}") from error
        await give_up_one()
        await asyncio.sleep(PAUSE_S)
