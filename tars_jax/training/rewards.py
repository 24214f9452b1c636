"""From an episode's verdict to a reward for each action token.

Axes: S steps of a trajectory, N trajectories, A action tokens of a trajectory.

The outcome decides (UI-TARS-2, 2.5.2); a format penalty for responses that do not parse and a soft penalty for
overlong ones shape it (2.5.4, "Reward shaping"), and by choice how soon the episode ended (`ending_rewards`).
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from tars_jax import InputError
from tars_jax.rl import early_ending_penalty, saved_steps, soft_overlong_penalty
from tars_jax.training.config import RewardConfig
from tars_jax.training.packing import PackedBatch
from tars_jax.trajectory import Outcome, Trajectory
from tars_jax.trajectory.checks import check_answers


def ending_rewards(
    steps: ArrayLike, budget: ArrayLike, succeeded: ArrayLike, ended: ArrayLike, config: RewardConfig
) -> jax.Array:
    """Shaped reward of the last step for when the episode ended, beside its verdict; float32.

    Args:
      steps: any shape, steps that were taken.
      budget: the most that there might have been.
      succeeded: bool, by the verdict that training believes.
      ended: bool; false where a budget ran out before the agent or the environment came to an end.
    """
    early = config.early_penalty * early_ending_penalty(steps, budget, config.early_share)
    failed = jnp.where(jnp.asarray(ended), early, -config.endless_penalty)
    return jnp.where(jnp.asarray(succeeded), config.fewer_steps_reward * saved_steps(steps, budget), failed)


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
    rewards = config.scale * verdicts - config.format_penalty * malformed + config.length_penalty * overlong
    if taken := len(trajectory.steps):
        budget = trajectory.task.get("max_steps", taken)  # a task without a budget took all of it
        ended = trajectory.outcome is not Outcome.TRUNCATED
        rewards[-1] += ending_rewards(taken, budget, trajectory.succeeded, ended, config)
    return rewards


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
