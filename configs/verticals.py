"""The report's verticals at nano size, and their merge (section 2.6): browsing, GUI, a game, a shell.

Command:  ./launch/local.sh merge_hybrid --config=verticals --config.seed=SEED      # after ./launch/websites.sh fossil

One supervised policy has seen demonstrations of all four; by PPO on each alone it becomes four specialists, whose merge
of equal weights is put beside them, on each domain and on tasks that need two domains in one episode. `almost
comparable` is at most 10 points below the specialist (`tolerance`, stated before any run). It has not been run to its
end yet: it takes some hours on two cores.

| domain      | tasks                                                            | by            |
|-------------|------------------------------------------------------------------|---------------|
| Browsing    | four pages of an encyclopedia, as configs/browsing_small.py      | screenshots   |
| GUI-General | four boxes of a page of Fossil, as configs/website_small.py      | screenshots   |
| Game        | mazes, as the quickstart's first                                 | screenshots   |
| SDK         | a file is moved to a folder, as configs/train.py says            | a shell       |
"""

import json
from typing import Any

import ml_collections

from configs import merge_hybrid, website_small

BROWSING = "tars_jax.envs.examples.small_encyclopedia:SmallEncyclopedia"
OPTIONS: list[dict[str, Any]] = [
    {"environment": BROWSING},
    {"environment": "website_app", **website_small.OPTIONS},
    {"environment": "maze_path_of_light", "distance": (1, 4)},
    {"environment": "computer", "task": "move_file", "level": 1},
]


def get_config() -> ml_collections.ConfigDict:
    config = merge_hybrid.get_config()
    config.environment = ",".join(each["environment"] for each in OPTIONS)
    config.environment_options = json.dumps(OPTIONS)
    config.mixture.weights = (1.0,) * len(OPTIONS)
    config.hybrid = False
    config.composites = ("2+3", "3+4")
    config.task.max_steps = 12
    config.task.evaluation_episodes = 100
    config.agent.constrained = False
    config.agent.list_actions = False
    config.agent.max_observation_tokens = 24
    config.engine.max_new_tokens = 40
    config.browser.pages = 8
    config.demonstrations.episodes = 1600
    config.demonstrations.skill = 0.6
    config.supervised.updates = 2000
    config.value.episodes = 200
    config.value.max_updates = 60
    config.ppo.updates = 12
    config.ppo.min_batch = 64
    config.ppo.minibatch_rows = 64
    config.ppo.learning_rate = 5e-4
    return config
