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
    config.task.evaluation_distances = (3, 10)
    config.demonstrations.episodes = 3000
    config.demonstrations.distances = (1, 10)
    config.demonstrations.skill = 0.5
    config.supervised.updates = 2000
    config.value.episodes = 1500
    config.value.max_updates = 600
    config.ppo.updates = 80
    config.ppo.min_batch = 64
    config.curriculum.stages = (5, 7, 9, 10)
    config.curriculum.nearest = 3
    config.curriculum.recent = 128
    return config
