"""Record of who is busy with what, from which the stream's metrics and its timeline come."""

from __future__ import annotations

import collections
import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

from tars_jax.rollout.timeline import Timeline, TrackOwner

_SINCE_1970 = time.time() - time.perf_counter()


def now() -> float:
    """Seconds since 1970 that never run backwards within a process."""
    return _SINCE_1970 + time.perf_counter()


class Activity:
    """Counts how long and how often everything was done. Thread-safe; shows it on a timeline where there is one."""

    def __init__(self, timeline: Timeline | None = None) -> None:
        self._timeline = timeline
        self._lock = threading.Lock()
        self._seconds: dict[tuple[TrackOwner, str], float] = collections.defaultdict(float)
        self._times: collections.Counter[tuple[TrackOwner, str]] = collections.Counter()

    @contextlib.contextmanager
    def span(self, part: TrackOwner, lane: int, name: str, **details: Any) -> Iterator[None]:
        """A span that lasts as long as the block, however that ends."""
        start = now()
        try:
            yield
        finally:
            self.add(part, lane, name, start, now(), **details)

    def add(self, part: TrackOwner, lane: int, name: str, start: float, end: float, **details: Any) -> None:
        """Records a span that has ended; `start` and `end` as of `now()`."""
        with self._lock:
            self._seconds[part, name] += end - start
            self._times[part, name] += 1
        if self._timeline is not None:
            self._timeline.span(part, lane, name, start, end, **details)

    def show(self, part: TrackOwner, name: str, **values: float) -> None:
        """Records numbers of this moment, for the timeline only."""
        if self._timeline is not None:
            self._timeline.counter(part, name, now(), **values)

    def seconds(self, part: TrackOwner, *names: str) -> float:
        """Seconds that all lanes of `part` together have spent with `names` so far."""
        with self._lock:
            return sum(self._seconds[part, name] for name in names)

    def times(self, part: TrackOwner, name: str) -> int:
        """Number of spans of this name that have ended."""
        with self._lock:
            return self._times[part, name]
