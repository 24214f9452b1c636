"""How long the requests of one run kept its servers busy, and how many tokens came of them."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Awaitable

from tars_jax.inference.sampling import Sampled


@dataclasses.dataclass(frozen=True)
class ServedCounts:
    """What the servers have done for this run so far."""

    busy_seconds: float  # in which one had a request of ours
    tokens_sampled: int


class RequestCounts:
    """Counts the requests of one event loop; any thread may read."""

    def __init__(self) -> None:
        self._waiting, self._busy, self._since, self._tokens = 0, 0.0, 0.0, 0

    async def count(self, answer: Awaitable[Sampled]) -> Sampled:
        """Awaits it."""
        if not self._waiting:
            self._since = time.monotonic()
        self._waiting += 1
        try:
            sampled = await answer
            self._tokens += len(sampled.tokens)
            return sampled
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._busy += time.monotonic() - self._since

    def read(self) -> ServedCounts:
        running = time.monotonic() - self._since if self._waiting else 0.0
        return ServedCounts(self._busy + running, self._tokens)
