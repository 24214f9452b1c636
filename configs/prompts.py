"""A data set as an environment: 200 prompts, two reward functions, GRPO from random weights.

Command:  ./launch/local.sh train --config=prompts --config.seed=SEED
"""

import json

import ml_collections

from configs import train

PLACE = "tars_jax.tasks.prompts.first_or_last"
OPTIONS = {
    "data": f"{PLACE}:records",
    "held_out": 0.25,
    "choices": [str(digit) for digit in range(10)],
    "rewards": {f"{PLACE}:exact": 1.0, f"{PLACE}:named": 0.2},
}


def get_config() -> ml_collections.ConfigDict:
    config = train.get_config()
    config.environment = "prompts"
    config.environment_options = json.dumps(OPTIONS)
    config.agent.grammar = "plain"
    config.agent.thought = "never"
    config.agent.show_budget = False
    config.agent.max_observation_tokens = 1
    config.demonstrations.episodes = 0
    config.browser.pages = 16
    config.engine.max_new_tokens = 4
    config.ppo.advantages = "group"
    config.ppo.group_size = 8
    config.ppo.updates = 40
    config.ppo.min_batch = 256
    config.ppo.minibatch_rows = 64
    config.ppo.learning_rate = 1e-3
    return config
