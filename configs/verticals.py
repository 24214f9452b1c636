"""The report's verticals at nano size, and their merge (section 2.6): browsing, GUI, a game, a shell.

Command:  ./launch/local.sh merge_hybrid --config=verticals --config.seed=SEED      # after ./launch/websites.sh fossil

One supervised policy has seen demonstrations of all four; by PPO on each alone it becomes four specialists, whose merge
of equal weights is put beside them, on each domain and on tasks that need two domains in one episode. `almost
comparable` is at most 10 points below the specialist (`tolerance`, stated before any run).

Half of it, one seed: --config.demonstrations.episodes=1000 --config.supervised.updates=1200 --config.value.episodes=100
--config.value.max_updates=30 --config.ppo.updates=6 --config.task.evaluation_episodes=60; 108 minutes on two cores that
much else shared. Success on 60 held-out tasks each, in percent; whole runs of this config have not been made:

| agent       | Browsing | GUI-General | Game | SDK | GUI then game | game then SDK |
|-------------|----------|-------------|------|-----|---------------|---------------|
| start       | 72       | 5           | 82   | 83  | 0             | 0             |
| Browsing    | 92       | 7           | 75   | 85  | 0             | 0             |
| GUI-General | 72       | 8           | 78   | 85  | 0             | 2             |
| Game        | 75       | 3           | 82   | 83  | 0             | 0             |
| SDK         | 75       | 3           | 82   | 88  | 0             | 2             |
| merge       | 83       | 7           | 80   | 83  | 0             | 3             |

The merge minus each part's specialist: -8 points [-21, 4], -2 [-12, 9], -2 [-16, 13], -5 [-18, 8]: 60 tasks cannot tell
whether that is almost comparable, and so the verdict is undecided. Only Browsing gained by six updates. No agent does
tasks of two domains, which none has been shown.

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
