"""Several pools as one: each keeps the episodes of a part of a mixture, and a batch takes of each its share.

Group n is of part n mod P, wherever the parts' pools share a folder, a ledger and a learner with it. So a part has a
staleness bound, dynamic sampling and an order of its own: what is filtered or lost is made up for by the same part.

A part whose episodes are lost one after the other is away: it is asked for no more, what it has finished is used up,
and the rest of the batch is the others', by their weights. With an update now and then one episode of it is tried; the
first that is not lost brings it back. Where all are away none is, and the stream ends as that of one pool does
(`sources.py`).
"""

from __future__ import annotations

import math
import pathlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tars_jax.rollout.config import PoolConfig, Share
from tars_jax.rollout.pool import RolloutPool
from tars_jax.rollout.unjudged import loss_of
from tars_jax.trajectory import Outcome, Trajectory

LOST_OF_PART = 8  # episodes in a row, after each of which the same was tried again
LONGEST_PAUSE = 32  # updates between two trials of a part that is away


def shares(groups: int, weights: Sequence[float]) -> list[int]:
    """`groups` divided by weights of 0 or more: what is left over by rounding down goes to the largest remainders, and
    among equal ones to the first. Who has a weight has a group, where there are as many."""
    total = sum(weights)
    exact = [groups * weight / total for weight in weights]
    found = [math.floor(each + 1e-9) for each in exact]
    order = sorted(range(len(weights)), key=lambda part: (found[part] - exact[part], part))
    for part in order[: groups - sum(found)]:
        found[part] += 1
    for part in (part for part, weight in enumerate(weights) if weight and not found[part]):
        if max(found) > 1:
            found[found.index(max(found))] -= 1
            found[part] = 1
    return found


class MixedPool:
    """A `RolloutPool` for each part of a mixture, as one pool."""

    def __init__(
        self,
        folder: pathlib.Path,
        config: PoolConfig,
        ledger: Mapping[str, Any] | None,
        weights: Mapping[str, float],
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        """`weights`: of each part, by its name. `tell` hears when a part is away, and when it is back."""
        self.folder, self.config, self.groups, self._tell = folder, config, config.groups, tell
        self._names, self._weights = tuple(weights), tuple(weights.values())
        self.stride = len(weights)
        self.changed = threading.Condition()
        own = config.share
        self._pools = [
            RolloutPool(folder, config.of_part(quota, Share(own.number * len(weights) + part, own.of * len(weights))),
                        ledger, self.changed)
            for part, quota in enumerate(shares(config.groups, self._weights))
        ]  # fmt: skip
        self._lost = [0] * self.stride  # episodes of each part in a row
        self._away: dict[int, tuple[int, int]] = {}  # the version that tries it next, and the pause that follows
        self._version = 0  # that was claimed for last

    def part(self, index: int) -> int:
        """The part that episode `index` is of."""
        return self.config.group(index) % self.stride

    # The workers' side

    def claim(self, version: int) -> int | None:
        """Like `RolloutPool.claim`: of a part whose group is begun, else of the one that lacks most of its share."""
        with self.changed:
            self._version = version
            for part, (due, pause) in self._away.items():
                if version >= due and not self._pools[part].counts()["in_flight"]:
                    self._away[part] = version + pause, min(2 * pause, LONGEST_PAUSE)
                    if (index := self._pools[part].claim(version, begins=True)) is not None:
                        return index
            away = self._gone()
            in_need = sorted(range(self.stride), key=lambda part: (part in away, *self._pools[part].ahead(), part))
            claims = (self._pools[part].claim(version, begins=False if part in away else None) for part in in_need)
            return next((index for index in claims if index is not None), None)

    def task(self, index: int, draw: Callable[[int], dict[str, Any]]) -> dict[str, Any]:
        return self._of(index).task(index, draw)

    def finish(self, index: int, trajectory: Trajectory) -> None:
        self._of(index).finish(index, trajectory)
        with self.changed:
            self._heard(self.part(index), trajectory)

    def abandon(self, index: int) -> None:
        self._of(index).abandon(index)

    # The learner's side

    def ready(self) -> int:
        return sum(pool.ready() for pool in self._pools)

    def wait(self, timeout: float | None = None) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: all(pool.has_batch() for pool in self._pools), timeout)

    def take(self) -> list[Trajectory] | None:
        """Like `RolloutPool.take`: of each part its share, one part after the other."""
        with self.changed:
            if not all(pool.has_batch() for pool in self._pools):
                return None
            batches = [pool.take() for pool in self._pools]
            self._divide()
            return [each for batch in batches for each in batch or ()]

    def resize(self, groups: int) -> None:
        with self.changed:
            self.groups = max(groups, self.stride)
            self._divide()

    def left_out(self) -> list[Trajectory]:
        with self.changed:
            return [each for pool in self._pools for each in pool.left_out()]

    def ledger(self) -> dict[str, Any]:
        """As that of one pool: a batch names the episodes of one part after the other."""
        with self.changed:
            every = [pool.ledger() for pool in self._pools]
        batches = {
            name: [
                [index for part in parts for index in part]
                for parts in zip(*(each[name] for each in every), strict=True)
            ]
            for name in ("consumed", "filtered")
        }
        return {**batches, "tasks": {group: task for each in every for group, task in each["tasks"].items()}}

    def counts(self) -> dict[str, int]:
        with self.changed:
            every = [pool.counts() for pool in self._pools]
            return {name: sum(each[name] for each in every) for name in every[0]}

    def outlines(self) -> Iterator[Trajectory]:
        for pool in self._pools:
            yield from pool.outlines()

    # Who is there

    def _of(self, index: int) -> RolloutPool:
        return self._pools[self.part(index)]

    def _gone(self) -> set[int]:
        """The parts that batches do without."""
        return set(self._away) if len(self._away) < self.stride else set()

    def _heard(self, part: int, trajectory: Trajectory) -> None:
        if trajectory.cannot_say:  # it was played
            return
        name = self._names[part]
        if trajectory.outcome is not Outcome.FAILED:
            self._lost[part] = 0
            if self._away.pop(part, None):
                self._say(f"{name} is back")
            return
        self._lost[part] += 1
        if part not in self._away and self._lost[part] >= max(LOST_OF_PART, self.config.group_size):
            self._away[part] = self._version + 1, 2
            lost = f"{self._lost[part]} of its episodes in a row were lost"
            self._say(f"{name} is away, as {lost}, the last one: {loss_of(trajectory):.300}")
        self._divide()  # of what is away something may have ended

    def _say(self, what: str) -> None:
        self._divide()
        weights = self._present_weights()
        held = ", ".join(
            f"{name} {weight / sum(weights):.0%}" for name, weight in zip(self._names, weights, strict=True)
        )
        self._tell(f"{what}; a batch holds {held}")

    def _present_weights(self) -> list[float]:
        gone = self._gone()
        return [0.0 if part in gone else weight for part, weight in enumerate(self._weights)]

    def _divide(self) -> None:
        """Shares of the next batches: of who is away what it has finished, of the others the rest."""
        usual = shares(self.groups, self._weights)
        left = {part: min(usual[part], self._pools[part].complete()) for part in self._gone()}
        quotas = shares(self.groups - sum(left.values()), self._present_weights())
        for part, pool in enumerate(self._pools):
            pool.resize(left.get(part, quotas[part]))
