"""Specialists of Maze and Infinity-Loop, trained from one supervised start, and their interpolations.

Command:  ./launch/local.sh merge_games --config.seed=SEED

Success on 150 held-out levels of each game, with 95% intervals, of seed 0 in 4.8 minutes:

| agent                | Infinity-Loop  | Maze           | mean  |
|----------------------|----------------|----------------|-------|
| start                | 36.7% [29, 45] | 77.3% [70, 83] | 57.0% |
| of Infinity-Loop     | 58.0% [50, 66] | 26.0% [20, 34] | 42.0% |
| of Maze              | 14.7% [10, 21] | 78.7% [71, 84] | 46.7% |
| merged, 1/4 and 3/4  | 31.3% [24, 39] | 77.3% [70, 83] | 54.3% |
| merged, 1/2 and 1/2  | 42.7% [35, 51] | 70.7% [63, 77] | 56.7% |
| merged, 3/4 and 1/4  | 51.3% [43, 59] | 62.7% [55, 70] | 57.0% |

Each specialist forgets the other's game; a merge is better than either on both together, and the weights choose between
the games: 3/4 keeps most of one and four fifths of the other. No merge is better than the start on both games at once.
"""

import ml_collections

from configs import quickstart


def get_config() -> ml_collections.ConfigDict:
    base = quickstart.get_config()
    config = ml_collections.ConfigDict()
    config.seed = 0
    config.run = ""  # run directory; empty: a new one under runs/
    for section in ("model", "mesh", "agent", "browser", "fleet", "packing", "engine", "reward"):
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
