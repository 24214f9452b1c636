"""Taxi: a planner of a few lines shows the shortest ways, the policy imitates them, and PPO goes on from there.

Command:  ./launch/local.sh train --config=taxi --config.seed=SEED

The planner itself takes a shortest way: 20 are earned at the end, and each step before costs 1. PPO has not helped
the policy that imitates it: with `--config.ppo.learning_rate=1e-3` the return of 40 held-out episodes went from -41
[-119, 0.5] to -136 [-225, -59] (seed 0) and from -66 [-151, -12] to -523 [-651, -403] (seed 1). The smaller step that
`train` takes after imitation now has not been run, nor has anything since only decisions count (docs/rl.md) and batches
are in order.
"""

import ml_collections

from configs import train


def get_config() -> ml_collections.ConfigDict:
    config = train.get_config()
    config.environment = "gymnasium:Taxi-v4"
    config.demonstrations.player = "tars_jax.envs.examples.gymnasium_players:taxi"
    return config
