"""Specialists of two interfaces or environments, their interpolation, and an agent of both, at equal cost in episodes.

Command:  ./launch/local.sh merge_hybrid --config.environment=NAME --config.environment_options=JSON
          --config.mixture.weights=1,1 [--config.seed=SEED]

Parts as `train` has them (docs/rl.md). A specialist makes `ppo.updates` updates of `ppo.min_batch` episodes, the hybrid
as many as all specialists together, so that a merge and the hybrid have cost the same. What is printed is success on
held-out tasks of each part, of the start, the specialists, the merges and the hybrid, and what the latter two are
against the specialist of each part. No figures of it have been measured yet.
"""

import ml_collections

from configs import train


def get_config() -> ml_collections.ConfigDict:
    config = train.get_config()
    del config.server
    config.merges = (0.5,)  # weights of the first part's specialist; the others share the rest
    return config
