"""Specialists of Maze and Infinity-Loop, trained from one supervised start, and their interpolations.

Command:  ./launch/local.sh merge_games --config.seed=SEED

Made for 10 minutes on two cores; not measured yet. Expected result: a table of agents (the start, the two specialists,
merges with 1/4, 1/2 and 3/4 of the first one) by games, success on held-out levels with 95% intervals. Each
specialist should be best on its game and worse than the start on the other; a merge should keep most of both.
"""

import ml_collections

from configs import quickstart


def get_config() -> ml_collections.ConfigDict:
    base = quickstart.get_config()
    config = ml_collections.ConfigDict()
    config.seed = 0
    config.run = ""  # run directory; empty: a new one under runs/
    for section in ("model", "mesh", "agent", "browser", "packing", "engine", "reward"):
        config[section] = base[section]
    config.packing.row_length = 56  # the longest instruction, a screenshot and an answer
    # Options of each game as its game.json describes them, and the budget of steps. Games count in alphabetical order.
    config.games = ml_collections.ConfigDict(
        {
            "maze_path_of_light": {"distance": (1, 4), "max_steps": 5},
            "infinity_loop": {"size": 3, "scrambled": 1, "max_steps": 5},
        }
    )
    config.demonstrations = ml_collections.ConfigDict(
        {
            "start": 700,  # episodes of each game
            "specialist": 700,  # of its game
            "skill": 0.8,  # of the reference players
        }
    )
    config.start = base.supervised
    config.start.updates = 500
    config.specialist = base.supervised.copy_and_resolve_references()
    config.specialist.updates = 200
    config.specialist.learning_rate = 1e-3
    config.merges = (0.25, 0.5, 0.75)  # weights of the first game's specialist; 0.5 is uniform
    config.evaluation_episodes = 150  # of each agent on each game
    return config
