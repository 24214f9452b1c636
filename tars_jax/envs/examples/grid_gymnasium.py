"""A gymnasium environment of somebody else's, who knows nothing of us: a grid, a walker, a goal one or two steps away.

gymnasium:tars_jax.envs.examples.grid_gymnasium:Grid-v0    {"action_names": ["up", "right", "down", "left"]}
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

CELLS = 3  # a side
CELL = 16  # pixels
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))  # up, right, down, left: row, column


class Grid(gymnasium.Env[np.ndarray, np.int64]):
    """Reaching the goal earns 1, coming closer 0.1 and going away -0.1. Walls stop the walker.

    Observation: how many rows down and columns right of the walker the goal lies. At random, one episode in three gets
    there.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012 - as gymnasium.Env has it

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.action_space = spaces.Discrete(len(MOVES))
        self.observation_space = spaces.Box(1 - CELLS, CELLS - 1, (2,), np.int64)
        self._walker = self._goal = np.zeros(2, np.int64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._walker = self.np_random.integers(CELLS, size=2)
        self._goal = self._walker
        while not 1 <= self._distance() <= 2:
            self._goal = self.np_random.integers(CELLS, size=2)
        return self._seen(), {}

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        before = self._distance()
        self._walker = np.clip(self._walker + np.asarray(MOVES[int(action)]), 0, CELLS - 1)
        closer = before - self._distance()
        arrived = self._distance() == 0
        return self._seen(), 1.0 if arrived else 0.1 * closer, arrived, False, {"distance": self._distance()}

    def render(self) -> np.ndarray:
        frame = np.zeros((CELLS, CELLS, 3), np.uint8)
        frame[tuple(self._goal)] = (40, 200, 60)
        frame[tuple(self._walker)] = (230, 60, 50)
        return frame.repeat(CELL, 0).repeat(CELL, 1)

    def _seen(self) -> np.ndarray:
        return (self._goal - self._walker).astype(np.int64)

    def _distance(self) -> int:
        return int(np.abs(self._walker - self._goal).sum())


gymnasium.register("Grid-v0", entry_point=f"{__name__}:Grid", max_episode_steps=4, reward_threshold=0.9)
