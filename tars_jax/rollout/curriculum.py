"""A curriculum: tasks grow harder as recent success rises."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tars_jax.trajectory import Trajectory


@dataclasses.dataclass(frozen=True)
class CurriculumConfig:
    stages: tuple[int, ...] = (3, 4, 5)  # the largest distance at each stage
    nearest: int = 2  # the smallest distance, at all stages
    promote_at: float = 0.7  # success rate of the recent episodes that ends a stage
    recent: int = 128  # episodes


class Curriculum:
    """Draws the options of training tasks; its state goes into the checkpoint."""

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

    def saw(self, trajectories: Sequence[Trajectory]) -> bool:
        """Counts finished episodes; True when that began a new stage."""
        self._recent.extend(float(trajectory.reward > 0) for trajectory in trajectories)
        full = len(self._recent) == self._config.recent
        if full and np.mean(self._recent) >= self._config.promote_at and self._stage + 1 < len(self._config.stages):
            self._stage += 1
            self._recent.clear()
            return True
        return False

    def state(self) -> dict[str, Any]:
        return {"stage": self._stage, "recent": list(self._recent)}
