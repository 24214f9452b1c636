"""Multi-turn PPO on mazes along the quickstart's curriculum, from any policy and value model.

Command:  ./launch/local.sh reinforcement --config.model.preset=RUN_RFT/policy --config.value.checkpoint=RUN_V/value

Not measured yet.
"""

import ml_collections

from configs import chain, quickstart


def get_config() -> ml_collections.ConfigDict:
    base = quickstart.get_config()
    config = chain.get_config()
    config.model.preset = ""  # RUN/policy of an earlier stage
    config.value = ml_collections.ConfigDict(
        {"checkpoint": ""}  # RUN/value of a value_pretraining; nothing: a fresh head on the policy's trunk
    )
    config.ppo = base.ppo
    config.ppo.updates = 6
    config.ppo.min_batch = 128
    config.curriculum = base.curriculum
    config.curriculum.stages = (3, 4)
    config.curriculum.nearest = 1
    return config
