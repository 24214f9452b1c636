"""A program of the standard library plays whole episodes by chat completions, and the policy behind them is trained.

Command:  ./launch/local.sh train --config=harness_words --config.seed=SEED

Two questions an episode, each after the first or the last word of a row (tars_jax/envs/examples/harness/words.py); a
success answers both. Demonstrations are by the function `reference` beside it, which answers half of the questions by
chance: a right word one time in three.

Expected result, seen once, seed 0, beside much other work (28 minutes): 52.8% of 199 held-out episodes before PPO and
98.5% of 200 after, +45.7 points [38.4, 52.7].
"""

import json
from pathlib import Path

import ml_collections

import tars_jax
from configs import train

PROGRAM = Path(tars_jax.__file__).parent / "envs" / "examples" / "harness" / "words.py"


def get_config() -> ml_collections.ConfigDict:
    config = train.get_config()
    config.environment = "harness"
    options = {
        "command": ["python3", "words.py"],
        "files": {"words.py": str(PROGRAM)},
        "reference": "tars_jax.envs.examples.harness.words:reference",
        "answers": 2,
        "time_limit": 60,
    }
    config.environment_options = json.dumps(options)
    config.task.evaluation_episodes = 200
    config.demonstrations.episodes = 400
    config.demonstrations.skill = 0.5
    config.supervised.updates = 150
    config.engine.max_new_tokens = 8
    config.value.episodes = 100
    config.value.max_updates = 20
    config.ppo.updates = 16
    config.ppo.min_batch = 96
    config.ppo.minibatch_rows = 64
    config.ppo.learning_rate = 1e-3
    return config
