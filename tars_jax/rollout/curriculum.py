"""Curricula: which options the next training task has, by the success of recent episodes.

Group n of the stream asks for `options(n)` once, when its first episode starts; the pool remembers the task from then
on. What a curriculum has seen is its state, which goes into the checkpoint with the weights. `options` is called from
the rollouts' thread, the rest from the learner's.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import json
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tars_jax import InputError
from tars_jax.rules import at_least, between, each, field
from tars_jax.trajectory import Trajectory

UNCERTAIN = "more often the kinds of tasks whose outcome is uncertain"  # what `FrontierCurriculum` picks


@dataclasses.dataclass(frozen=True)
class CurriculumConfig:
    """A curriculum over the distance of the maze's exit, which grows in stages.

    Raises InputError, naming the field, for stages that do not grow from `nearest` on.
    """

    stages: tuple[int, ...] = field((3, 4, 5), "farthest exit of each stage, in moves", each(at_least(1)))
    nearest: int = field(2, "nearest exit of every stage, in moves", at_least(1))
    promote_at: float = field(
        0.75, "success rate at a stage's farthest exit from which on the next stage begins", between(0, 1)
    )
    recent: int = field(256, "most recent episodes that this success rate is taken over", at_least(1))

    def __post_init__(self) -> None:
        stages, nearest = tuple(self.stages), self.nearest
        if not stages or any(after <= before for before, after in itertools.pairwise(stages)):
            raise InputError(f"curriculum.stages must be one distance or more, each beyond the last one; got {stages}")
        if not 1 <= nearest <= stages[0]:
            raise InputError(
                f"curriculum.nearest must be 1 to the first of curriculum.stages, {stages[0]}; got {nearest}"
            )


class StagedCurriculum:
    """Stages of growing distance: enough recent success ends one."""

    def __init__(self, config: CurriculumConfig, seed: int, state: Mapping[str, Any] | None = None) -> None:
        self._config, self._seed = config, seed
        state = state or {"stage": 0, "recent": []}
        self._stage = int(state["stage"])
        self._recent: collections.deque[float] = collections.deque(state["recent"], maxlen=config.recent)

    @property
    def distance(self) -> int:
        return self._config.stages[self._stage]

    def options(self, index: int) -> dict[str, Any]:
        """Options of training task `index`: a distance drawn evenly from the stage's range."""
        distance = int(np.random.default_rng((self._seed, index)).integers(self._config.nearest, self.distance + 1))
        return {"distance": [distance, distance]}

    def update(self, trajectories: Sequence[Trajectory]) -> bool:
        """Counts finished episodes; True when that began a new stage."""
        self._recent.extend(float(trajectory.succeeded) for trajectory in trajectories)
        full = len(self._recent) == self._config.recent
        if full and np.mean(self._recent) >= self._config.promote_at and self._stage + 1 < len(self._config.stages):
            self._stage += 1
            self._recent.clear()
            return True
        return False

    def state(self) -> dict[str, Any]:
        return {"stage": self._stage, "recent": list(self._recent)}


class FrontierCurriculum:
    """Picks one of several kinds of tasks, more often the less is known of its outcome: success p has the weight
    p (1 - p) + `floor`. What is always or never solved teaches a policy gradient nothing, and comes back now and then.
    """

    def __init__(
        self,
        kinds: Sequence[Mapping[str, Any]],
        seed: int,
        state: Mapping[str, Any] | None = None,
        *,
        recent: int = 32,
        floor: float = 0.05,
        kind_of: Callable[[Mapping[str, Any]], Mapping[str, Any]] = operator.itemgetter("options"),
    ) -> None:
        """`kinds` are options of tasks, or what else `kind_of` finds in a task's record, each of another kind; `recent`
        episodes of each kind count."""
        self._kinds, self._seed, self._floor = [dict(kind) for kind in kinds], seed, floor
        self._kind_of = kind_of
        seen = state["recent"] if state else [[] for _ in kinds]
        self._recent: list[collections.deque[float]] = [collections.deque(each, maxlen=recent) for each in seen]
        self._number = {_key(kind): number for number, kind in enumerate(self._kinds)}
        self.shares = self._shares()

    def options(self, index: int) -> dict[str, Any]:
        """Options of training task `index`; a function of the index, the seed and what was seen."""
        return self._kinds[int(np.random.default_rng((self._seed, index)).choice(len(self._kinds), p=self.shares))]

    def update(self, trajectories: Sequence[Trajectory]) -> bool:
        """Counts the episodes of an update; True when that changed which tasks are picked."""
        before = self.shares
        for trajectory in trajectories:
            self._recent[self._number[_key(self._kind_of(trajectory.task))]].append(float(trajectory.succeeded))
        self.shares = self._shares()
        return bool((self.shares != before).any())

    def state(self) -> dict[str, Any]:
        return {"recent": [list(each) for each in self._recent]}

    def _shares(self) -> np.ndarray:
        """[kinds] float64: how often each kind is picked. One success and one failure are assumed of all."""
        success = np.array([(sum(each) + 1) / (len(each) + 2) for each in self._recent])
        weights = success * (1 - success) + self._floor
        return weights / weights.sum()


def _key(options: Mapping[str, Any]) -> str:
    return json.dumps(dict(options), sort_keys=True)
