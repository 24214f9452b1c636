"""The quickstart's experiment with episodes of 20 steps.

Command:  ./launch/local.sh quickstart --config=maze_long

Not measured: no run of this setting has finished. The goal is a supervised policy of about one half and at least 80%
on held-out levels in two hours, over two seeds.
"""

import ml_collections

from configs import quickstart


def get_config() -> ml_collections.ConfigDict:
    config = quickstart.get_config()
    config.task.max_steps = 20
    config.task.evaluation_distances = (3, 5)
    config.demonstrations.episodes = 3000
    config.demonstrations.distances = (1, 6)
    config.demonstrations.skill = 0.2
    config.supervised.updates = 3500
    config.value.episodes = 1200
    config.value.max_updates = 240
    config.ppo.updates = 80
    config.ppo.min_batch = 64
    config.ppo.learning_rate = 2.5e-4
    config.ppo.value_learning_rate = 2e-4
    config.curriculum.stages = (4, 5)
    config.curriculum.nearest = 3
    config.curriculum.recent = 128
    return config
