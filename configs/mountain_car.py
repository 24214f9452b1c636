"""MountainCarContinuous: a player of two lines pushes the way that the car goes, the policy imitates it, then PPO.

Command:  ./launch/local.sh train --config=mountain_car --config.seed=SEED

What to expect has not been measured: no whole run has been made. The player itself reaches the flag and earns more than
90 (three seeds of three).
"""

import ml_collections

from configs import train


def get_config() -> ml_collections.ConfigDict:
    config = train.get_config()
    config.environment = "gymnasium:MountainCarContinuous-v0"
    config.demonstrations.player = "tars_jax.envs.examples.gymnasium_players:mountain_car"
    return config
