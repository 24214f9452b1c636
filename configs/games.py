"""One nano agent learns several games together, supervised and then by PPO.

Command:  ./launch/local.sh games --config.seed=SEED [--config.games=maze_path_of_light,infinity_loop,...]
"""

import ml_collections

from configs import quickstart


def get_config() -> ml_collections.ConfigDict:
    base = quickstart.get_config()
    config = ml_collections.ConfigDict()
    config.seed = 0
    config.run = ""  # run directory; empty: a new one under runs/
    config.games = ("maze_path_of_light", "infinity_loop", "game_2048", "tiles_master")
    config.levels = (1,)
    for section in ("model", "mesh", "agent", "browser", "reward"):
        config[section] = base[section]
    config.task = ml_collections.ConfigDict(
        {
            "max_steps": 12,  # of an episode, where its level does not say less
            "evaluation_episodes": 400,  # of all games together, on levels that training never sees
        }
    )
    config.packing = base.packing
    config.packing.row_length = 80  # the longest instruction, a screenshot and an answer
    config.packing.images_per_row = 2  # two steps of the games with short ones
    config.engine = base.engine
    config.engine.max_length = 96
    config.engine.max_new_tokens = 28
    config.engine.length_buckets = (48, 96)
    config.demonstrations = ml_collections.ConfigDict({"episodes": 3000, "skill": 0.8})
    config.supervised = base.supervised
    config.supervised.updates = 1500
    config.value = base.value
    config.ppo = base.ppo
    config.ppo.updates = 40
    config.ppo.min_batch = 240
    return config
