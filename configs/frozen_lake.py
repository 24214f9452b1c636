"""FrozenLake, which is slippery, from random weights: every field is what `train` chooses.

Command:  ./launch/local.sh train --config=frozen_lake --config.seed=SEED

RESULTS
"""

import ml_collections

from configs import train


def get_config() -> ml_collections.ConfigDict:
    config = train.get_config()
    config.environment = "gymnasium:FrozenLake-v1"
    return config
