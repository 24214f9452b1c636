"""FrozenLake, which is slippery, from random weights: every field is what `train` chooses.

Command:  ./launch/local.sh train --config=frozen_lake --config.seed=SEED

What to expect has not been measured: no whole run has been made. Of 100 episodes by chance none or few reach the goal,
so that an update takes 192 episodes, and fewer as they get longer.
"""

import ml_collections

from configs import train


def get_config() -> ml_collections.ConfigDict:
    config = train.get_config()
    config.environment = "gymnasium:FrozenLake-v1"
    return config
