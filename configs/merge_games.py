"""Specialists of Maze and Infinity-Loop, trained from one supervised start, and their interpolations.

Command:  ./launch/local.sh merge_games --config.seed=SEED

Success on 150 held-out levels of each game (an interval of 95% is about 8 points to both sides), 5 to 7 minutes a seed:
Infinity-Loop, Maze, and the mean of both.

| agent               | seed 0             | seed 1             | seed 2             |
|---------------------|--------------------|--------------------|--------------------|
| start               | 36.7  77.3    57.0 | 22.0  73.3    47.7 | 18.0  73.3    45.7 |
| of Infinity-Loop    | 58.0  26.0    42.0 | 44.7   3.3    24.0 | 42.7  12.7    27.7 |
| of Maze             | 14.7  78.7    46.7 | 16.0  82.0    49.0 |  1.3  79.3    40.3 |
| merged, 1/4 and 3/4 | 31.3  77.3    54.3 | 10.7  77.3    44.0 | 18.0  78.0    48.0 |
| merged, 1/2 and 1/2 | 42.7  70.7    56.7 | 36.0  72.0    54.0 | 20.0  73.3    46.7 |
| merged, 3/4 and 1/4 | 51.3  62.7    57.0 | 38.7  27.3    33.0 | 32.7  54.7    43.7 |

Each specialist forgets the other's game. With uniform weights a merge is better on both together than the better
specialist, by 10, 5 and 6 points, and about as good as the start (-0, +6, +1); other weights choose between the games.
On its own game a merge loses to the specialist: uniform weights 15, 9 and 23 points of Infinity-Loop, 8, 10 and 6 of
Maze.
"""

import ml_collections

from configs import quickstart


def get_config() -> ml_collections.ConfigDict:
    base = quickstart.get_config()
    config = ml_collections.ConfigDict()
    config.seed = 0
    config.run = ""  # run directory; empty: a new one under runs/
    for section in ("loggers", "model", "mesh", "agent", "browser", "sandbox", "fleet", "packing", "engine", "reward"):
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
