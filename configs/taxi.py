"""Taxi: a planner of a few lines shows the shortest ways, the policy imitates them, and PPO goes on from there.

Command:  ./launch/local.sh train --config=taxi --config.seed=SEED

What to expect has not been measured: no whole run has been made. The planner itself takes a shortest way: 20 are earned
at the end, and each step before costs 1.
"""

import ml_collections

from configs import train


def get_config() -> ml_collections.ConfigDict:
    config = train.get_config()
    config.environment = "gymnasium:Taxi-v4"
    config.demonstrations.player = "tars_jax.envs.examples.gymnasium_players:taxi"
    return config
