"""The report's trends at pico size, on the device: what holds, over five seeds.

Command:  ./launch/local.sh scoreboard                       # all of them
          ./launch/local.sh scoreboard --config.trends=T7    # one
"""

import ml_collections

from configs import on_device


def get_config() -> ml_collections.ConfigDict:
    config = ml_collections.ConfigDict()
    config.seed = 0  # the first of the seeds that count
    config.run = ""  # run directory; empty: a new one under runs/
    config.trends = ("all",)  # or some of them: T1,T7
    config.seeds = 5
    config.tuning_seeds = 2  # others, that count for nothing
    # Every side of a comparison is tried with all of these on the tuning seeds.
    config.learning_rates = (5e-4, 1e-3)
    # The agent that is trained, smaller than that of configs/on_device.py; `games` says what differs from game to game.
    agent = on_device.get_config()
    agent.rollout.episodes = 64
    agent.supervised.update({"updates": 300, "episodes": 16, "batch_rows": 64})
    agent.value.update({"updates": 20, "part": 20})
    agent.ppo.update({"updates": 40, "part": 20, "learning_rate": 1e-3, "epochs": 1})
    config.agent = agent
    config.games = ml_collections.ConfigDict(
        {
            "checklist": {"game": {"name": "checklist", "steps": 6}},
            "maze": {"game": {"name": "maze", "steps": 6}},
            "game_2048": {"game": {"name": "2048", "steps": 10}},
        }
    )
    return config
