"""One nano agent learns several games together, supervised and then by PPO.

Command:  ./launch/local.sh games --config.seed=SEED [--config.games=maze_path_of_light,infinity_loop,...]

Any of our games, and folders of synthesised ones. Measured only once, cut short, on a machine busy with other work:

  ./launch/local.sh games --config.demonstrations.episodes=2400 --config.value.episodes=1600 --config.ppo.updates=9

Held-out success of seed 0, 100 episodes a game, before and after PPO, the difference in points with its 95% interval:

| game               | before | after | points         |
|--------------------|--------|-------|----------------|
| Maze               | 77%    | 78%   | +1 [-11, +13]  |
| Infinity-Loop      | 9%     | 11%   | +2 [-7, +11]   |
| 2048               | 38%    | 40%   | +2 [-11, +15]  |
| Tiles Master       | 41%    | 40%   | -1 [-14, +12]  |

So supervised training alone brings all that is shown here; nine updates of PPO change nothing that 100 episodes can
tell. The value model explains .31 of the variance of held-out returns, a table over game, level, score and remaining
steps .26. The defaults below (3,000 demonstrations, 40 updates) have not been run to their end.
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
    for section in ("model", "mesh", "agent", "browser", "fleet", "reward"):
        config[section] = base[section]
    config.task = ml_collections.ConfigDict(
        {
            "max_steps": 12,  # of an episode, where its level does not say less
            "evaluation_episodes": 800,  # of all games together, on levels that training never sees
        }
    )
    config.packing = base.packing
    config.packing.row_length = 80  # the longest instruction, a screenshot and an answer
    config.packing.images_per_row = 2  # two steps of the games with short ones
    config.engine = base.engine
    config.engine.max_length = 96
    config.engine.max_new_tokens = 28
    config.engine.length_buckets = (48, 96)
    config.demonstrations = ml_collections.ConfigDict({"episodes": 6000, "skill": 0.8})
    config.supervised = base.supervised
    config.supervised.updates = 1500
    config.value = base.value
    config.ppo = base.ppo
    config.ppo.updates = 40
    config.ppo.min_batch = 240
    return config
