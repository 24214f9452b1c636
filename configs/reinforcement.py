"""Multi-turn PPO on mazes along the quickstart's curriculum, from any policy and value model.

Command:  ./launch/local.sh reinforcement --config.model.preset=RUN_RFT/policy --config.value.checkpoint=RUN_V/value

Seed 0, from the policy of `configs/rejection_sampling.py` and the value model of `configs/value_pretraining.py`, on a
machine busy with other work: 8 updates of 128 episodes show no improvement: 54% before and 52% after of 100 held-out
mazes, -2.0 points [-16, +12]. The policy's entropy is .12 nats a token: it comes from players who seldom wander, unlike
that of the quickstart, whose PPO gains 30 points.
"""

import ml_collections

from configs import chain, quickstart


def get_config() -> ml_collections.ConfigDict:
    base = quickstart.get_config()
    config = chain.farther()
    config.recipe = base.recipe
    config.value = ml_collections.ConfigDict(
        {"checkpoint": ""}  # RUN/value of a value_pretraining; nothing: a fresh head on the policy's trunk
    )
    config.ppo = base.ppo
    config.ppo.updates = 8
    config.ppo.min_batch = 128
    config.curriculum = base.curriculum
    config.curriculum.stages = (5, 6)
    config.curriculum.nearest = 3
    return config
