"""verl's side of `gae_batches.py`: `compute_gae_advantage_return` of verl 0.9.1, on torch tensors in float32."""

from __future__ import annotations

import numpy as np
import torch
from verl.trainer.ppo.core_algos import compute_gae_advantage_return

from tests.benchmarks.peers.masked_batches import GAMMA, LAMBDA, turn_of
from tests.benchmarks.peers.turns import serve


def advantages(rewards: np.ndarray, values: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    given = torch.from_numpy(rewards), torch.from_numpy(values), torch.from_numpy(mask.astype(np.float32))
    found = compute_gae_advantage_return(*given, gamma=GAMMA, lam=LAMBDA)
    return found[0].numpy(), found[1].numpy()


if __name__ == "__main__":
    serve(turn_of(advantages, advantages))
