"""From an episode's verdict to a reward for each action token.

Axes: S steps of a trajectory, N trajectories, A action tokens of a trajectory.

The outcome decides (UI-TARS-2, 2.5.2); a format penalty for responses that do not parse and a soft penalty for
overlong ones shape it (2.5.4, "Reward shaping").
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tars_jax import InputError
from tars_jax.rl import soft_overlong_penalty
from tars_jax.rules import Rule, at_least, check_fields, more_than
from tars_jax.training.packing import PackedBatch
from tars_jax.trajectory import Trajectory
from tars_jax.trajectory.checks import check_answers


@dataclasses.dataclass(frozen=True)
class RewardConfig:
    """Raises InputError for a `length_cache` below 1, for penalties below 0 and a `scale` of 0 or less."""

    scale: float = 1.0  # what the environment's rewards are multiplied by: a value model that begins at 0 learns small
    # numbers sooner
    format_penalty: float = 0.1  # taken for every response that does not parse
    length_penalty: float = 0.1  # taken for a response of `max_length` tokens or more
    max_length: int = 24  # tokens of one response
    length_cache: int = 6  # the penalty begins this many tokens before `max_length`

    RULES: ClassVar[Mapping[str, Rule]] = {
        **dict.fromkeys(("format_penalty", "length_penalty"), at_least(0)),
        "length_cache": at_least(1),
        "scale": more_than(0),
    }

    def __post_init__(self) -> None:
        check_fields(self, self.RULES, "reward")


def step_rewards(trajectory: Trajectory, config: RewardConfig) -> np.ndarray:
    """Shaped reward of each step, [S] float32. Raises InputError for a verdict beyond float32."""
    lengths = np.zeros(len(trajectory.steps), np.int32)
    for window in trajectory.windows:  # of a line of memory, in the window before, the answer is no longer
        steps, counts = np.unique(window.steps[window.action_mask], return_counts=True)
        lengths[steps] = counts
    overlong = np.asarray(soft_overlong_penalty(lengths, config.max_length, config.length_cache))
    with np.errstate(over="ignore"):
        verdicts = np.array([step.reward for step in trajectory.steps], np.float64).astype(np.float32)
    if (beyond := np.flatnonzero(~np.isfinite(verdicts))).size:
        number = int(beyond[0])
        got = trajectory.steps[number].reward
        raise InputError(f"trajectory {trajectory.id}: steps[{number}].reward must be a number of float32; got {got}")
    malformed = np.array([not step.valid for step in trajectory.steps], np.float32)
    return config.scale * verdicts - config.format_penalty * malformed + config.length_penalty * overlong


def token_rewards(batch: PackedBatch, trajectories: Sequence[Trajectory], config: RewardConfig) -> np.ndarray:
    """[N, A] float32: each step's reward at its last action token, 0 elsewhere.

    A step in which nothing was decided (`constrained.py`) has none. Its reward belongs to the last token before it, and
    to nobody where nothing was decided before.

    Raises InputError for answers that would lose a reward, or get one twice.
    """
    rewards = np.zeros(batch.action_index.shape, np.float32)
    for row, trajectory in enumerate(trajectories):
        check_answers(trajectory, f"trajectory {trajectory.id}")
        places = np.flatnonzero(batch.action_valid[row])
        number = np.searchsorted(batch.action_step[row, places], np.arange(len(trajectory.steps)), side="right")
        after = number > 0
        np.add.at(rewards[row], places[number[after] - 1], step_rewards(trajectory, config)[after])
    return rewards
