"""Tunix's side of `gae_batches.py`: the estimator "gae" of google-tunix 0.1.7, called as its PPO learner does."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import tunix.rl.ppo.ppo_learner  # noqa: F401  # registers the estimator
from tunix.rl import function_registry

from tests.benchmarks.peers.masked_batches import GAMMA, LAMBDA, turn_of
from tests.benchmarks.peers.turns import serve

ESTIMATOR = function_registry.default_registry.get("advantage_estimator", "gae")


def advantages(rewards: np.ndarray, values: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    given = jnp.asarray(rewards), jnp.asarray(values), jnp.asarray(mask)
    found = ESTIMATOR(rewards=given[0], values=given[1], completion_mask=given[2], gamma=GAMMA, gae_lambda=LAMBDA)
    return np.asarray(found[0]), np.asarray(found[1])


if __name__ == "__main__":
    serve(turn_of(advantages, advantages))
