"""The state of a site, once it stands still: two reads in a row agree."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.tasks.websites.tables import Tables, fingerprint, to_tables

MOST_READS = 8
PAUSE_S = 0.05  # real, before a read that follows one that differed; each pause is twice as long


class HasState(Protocol):
    async def snapshot(self) -> Mapping[str, Any]: ...


async def steady_tables(site: HasState) -> Tables:
    """Raises SandboxFailure("website") where the state never stands still, or cannot be read whole."""
    last, tables = "", to_tables(await site.snapshot())
    pause = PAUSE_S
    for number in range(MOST_READS - 1):
        last, tables = fingerprint(tables), to_tables(await site.snapshot())
        if fingerprint(tables) == last:
            return tables
        if number:
            await asyncio.sleep(pause)
            pause *= 2
    raise SandboxFailure("website", f"its state changed by itself between {MOST_READS} reads")
