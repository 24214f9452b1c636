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
    config.learning_rates = (2.5e-4, 5e-4, 1e-3)
    # The agent that is trained; `games` says how it differs from game to game.
    config.agent = on_device.get_config()
    config.games = ml_collections.ConfigDict(
        {
            "checklist": {"game": {"name": "checklist", "steps": 6}},
            "maze": {"game": {"name": "maze", "steps": 6}},
            "game_2048": {"game": {"name": "2048", "steps": 6}},
        }
    )
    return config
