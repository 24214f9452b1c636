"""The quickstart's experiment with episodes of 20 steps.

Command:  ./launch/local.sh quickstart --config=maze_long

Not measured yet: the numbers below are the quickstart's, scaled to the longer episodes. The goal is a supervised policy
of about one half and at least 80% on held-out levels in two hours, over two seeds.
"""

import ml_collections

from configs import quickstart


def get_config() -> ml_collections.ConfigDict:
    config = quickstart.get_config()
    config.task.max_steps = 20
    config.task.evaluation_distances = (2, 12)
    config.demonstrations.episodes = 2500
    config.demonstrations.distances = (1, 12)
    config.supervised.updates = 2500
    config.value.episodes = 2000
    config.value.max_updates = 400
    config.ppo.updates = 120
    config.ppo.min_batch = 128
    config.ppo.learning_rate = 3e-4
    config.curriculum.stages = (4, 6, 8, 10, 12)
    return config
