"""Pictures of a screen that are kept: those of what somebody looked at before acting, and of what came of it."""

from __future__ import annotations

import dataclasses
from collections import deque

import numpy as np

INTERVAL_S = 0.2  # between two pictures of a screen that changes all the while
IDLE_S, IDLE_INTERVAL_S = 3.0, 0.7  # after so long without input, between two
REST_S = 0.5  # without input, after which a hand that moves begins something
SETTLED_S = 0.4  # without a change
LATEST_S = 1.5  # after which what came of an input is kept though the screen still changes
RING = 8  # pictures in memory


@dataclasses.dataclass(frozen=True, eq=False)
class Taken:
    time: float
    pixels: np.ndarray


class FrameRing:
    """The last pictures, in memory; what is wanted of them is said once each."""

    def __init__(self) -> None:
        self._taken: deque[Taken] = deque(maxlen=RING)
        self._wanted: Taken | None = None  # the last that was
        self._last_input = -REST_S
        self._owed = False  # a picture of what came of an input

    def take(self, taken: Taken) -> None:
        self._taken.append(taken)

    def acts(self, time: float) -> list[Taken]:
        """Something was pressed or turned at that time: what the person saw before."""
        self._last_input, self._owed = time, True
        return self._want(self._before(time))

    def moves(self, time: float) -> list[Taken]:
        """The mouse moved: what was there before the hand set out."""
        rested = time - self._last_input >= REST_S
        self._last_input = time
        return self._want(self._before(time)) if rested else []

    def interval(self, now: float) -> float:
        """Seconds between two pictures of a screen that changes."""
        return INTERVAL_S if now - self._last_input < IDLE_S else IDLE_INTERVAL_S

    def rests(self, now: float) -> list[Taken]:
        """Frames after the last input, once the screen has settled."""
        if not self._owed or not self._taken:
            return []
        last = self._taken[-1]
        if last.time < self._last_input and now - self._last_input < SETTLED_S:
            return []
        if now - last.time < SETTLED_S and now - self._last_input < LATEST_S:
            return []
        self._owed = False
        return self._want(last)

    def forget(self, since: float) -> None:
        """Forgets the frames that were taken from then on."""
        kept = [taken for taken in self._taken if taken.time < since]
        self._taken.clear()
        self._taken.extend(kept)
        self._owed = False

    def _before(self, time: float) -> Taken | None:
        return next((taken for taken in reversed(self._taken) if taken.time <= time), None)

    def _want(self, taken: Taken | None) -> list[Taken]:
        if taken is None or taken is self._wanted:
            return []
        self._wanted = taken
        return [taken]
