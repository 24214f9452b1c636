"""Our side of `gae_batches.py`: the learner's advantages, whitened, and value targets.

Timed with two lambdas, the policy's adapted to each trajectory's length; compared with one, which is all others have.
"""

from __future__ import annotations

import numpy as np

from tars_jax.training.advantages import make_advantage_fn
from tars_jax.training.config import PPOConfig
from tests.benchmarks.peers.masked_batches import GAMMA, LAMBDA, Advantages, turn_of
from tests.benchmarks.peers.turns import serve


def advantage_fn(config: PPOConfig) -> Advantages:
    function = make_advantage_fn(config)

    def advantages(rewards: np.ndarray, values: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = function(rewards, values, mask)
        return np.asarray(found.advantages), np.asarray(found.targets)

    return advantages


if __name__ == "__main__":
    one = PPOConfig(gamma=GAMMA, length_adaptive=False, lambda_policy=LAMBDA, lambda_critic=LAMBDA)
    two = PPOConfig(gamma=GAMMA, alpha=1.5, lambda_critic=1.0)
    serve(turn_of(advantage_fn(one), advantage_fn(two)))
