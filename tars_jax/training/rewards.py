"""From an episode's verdict to a reward for each action token.

Axes: S steps of a trajectory, N trajectories, A action tokens of a trajectory.

The outcome decides (UI-TARS-2, 2.5.2); a format penalty for responses that do not parse and a soft penalty for
overlong ones shape it (2.5.4, "Reward shaping").
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from tars_jax import InputError
from tars_jax.rl import soft_overlong_penalty
from tars_jax.training.packing import PackedBatch
from tars_jax.trajectory import Trajectory


@dataclasses.dataclass(frozen=True)
class RewardConfig:
    """Raises InputError for a `length_cache` below 1 and for penalties below 0."""

    format_penalty: float = 0.1  # taken for every response that does not parse
    length_penalty: float = 0.1  # taken for a response of `max_length` tokens or more
    max_length: int = 24  # tokens of one response
    length_cache: int = 6  # the penalty begins this many tokens before `max_length`

    def __post_init__(self) -> None:
        if self.length_cache < 1:
            raise InputError(f"reward.length_cache got {self.length_cache}; it takes a whole number of at least 1.")
        for name in ("format_penalty", "length_penalty"):
            if not getattr(self, name) >= 0:
                raise InputError(f"reward.{name} got {getattr(self, name)!r}; it takes a number of at least 0.")


def step_rewards(trajectory: Trajectory, config: RewardConfig) -> np.ndarray:
    """Shaped reward of each step, [S] float32."""
    lengths = np.zeros(len(trajectory.steps), np.int32)
    for window in trajectory.windows:
        np.add.at(lengths, window.steps[window.action_mask], 1)
    overlong = np.asarray(soft_overlong_penalty(lengths, config.max_length, config.length_cache))
    verdicts = np.array([step.reward for step in trajectory.steps], np.float32)
    malformed = np.array([not step.valid for step in trajectory.steps], np.float32)
    return verdicts - config.format_penalty * malformed + config.length_penalty * overlong


def token_rewards(batch: PackedBatch, trajectories: Sequence[Trajectory], config: RewardConfig) -> np.ndarray:
    """[N, A] float32: each step's reward at the step's last action token, 0 elsewhere."""
    rewards = np.zeros(batch.action_index.shape, np.float32)
    for row, trajectory in enumerate(trajectories):
        steps = batch.action_step[row][batch.action_valid[row]]
        last = np.flatnonzero(np.diff(steps, append=-1))
        rewards[row, last] = step_rewards(trajectory, config)[steps[last]]
    return rewards
