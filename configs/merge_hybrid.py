"""Specialists of several environments or interfaces, their merges, and an agent of all, at equal cost in episodes.

Command:  ./launch/local.sh merge_hybrid --config.environment=NAME --config.environment_options=JSON
          --config.mixture.weights=1,1 [--config.composites=1+2] [--config.seed=SEED]
          ./launch/local.sh merge_hybrid --config=verticals [--config.seed=SEED]

Parts as `train` has them (docs/rl.md). All agents begin with one policy, from the demonstrations of all parts. A
specialist makes `ppo.updates` updates of `ppo.min_batch` episodes, the hybrid as many as all specialists together, so
that a merge and the hybrid have cost the same. What is printed is success on held-out tasks of each part, and of each
composite, one episode that needs several of them; and for each part whether a merge and the hybrid are almost
comparable to its specialist. Figures of one seed stand in configs/hybrid_small.py.
"""

import ml_collections

from configs import train


def get_config() -> ml_collections.ConfigDict:
    config = train.get_config()
    del config.server
    # Weights of the specialists, in the parts' order, such as 2:1:1; each is a merge. Empty: one, of equal weights.
    config.merges = ()
    config.hybrid = True  # beside the merges an agent that trains on all parts
    config.composites = ()  # tasks that need several parts in one episode, by their numbers, such as 1+2
    config.tolerance = 0.1  # what is at most so far below a specialist's success is almost comparable to it
    return config
