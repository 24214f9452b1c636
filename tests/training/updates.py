"""Iterations on episodes that are at hand, and batches of them: what tests of the learner begin with."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tars_jax.training.advantages import Advantages, make_ppo_batch
from tars_jax.training.config import PPOConfig, RewardConfig
from tars_jax.training.learner import LearnerState, PPOLearner, RecordedEpisodes, iterate
from tars_jax.training.packing import PackedBatch
from tars_jax.training.ppo import PPOBatch
from tars_jax.training.rewards import token_rewards
from tars_jax.trajectory import Trajectory


def update(
    learner: PPOLearner, state: LearnerState, trajectories: Sequence[Trajectory], parts: np.ndarray | None = None
) -> tuple[LearnerState, dict[str, float]]:
    return iterate(learner, state, RecordedEpisodes(trajectories, parts), seed=0)


def prepare(
    packed: PackedBatch,
    trajectories: Sequence[Trajectory],
    proximal: np.ndarray,
    values: np.ndarray | None,
    config: PPOConfig,
    rewards: RewardConfig,
    advantage_fn: Callable[..., Advantages],
    **mixture: Any,
) -> tuple[PPOBatch, dict[str, float]]:
    """`make_ppo_batch` of shaped rewards."""
    of_tokens = token_rewards(packed, trajectories, rewards)
    return make_ppo_batch(packed, trajectories, of_tokens, proximal, values, config, advantage_fn, **mixture)
