"""A data set as an environment: 200 prompts, two reward functions, GRPO from random weights.

Command:  ./launch/local.sh train --config=prompts --config.seed=SEED

Of two digits the first or the last is asked for ("3 8 last"), in plain text; a quarter of the prompts is held out, and
what is answered is one of ten digits, so that chance is 10%. `exact` (weight 1) is the right digit and tells success,
`named` (weight .2) either of the two. Docs: docs/prompts.md.

Expected result: RUN/policy, result.json with success and the mean of each function before and after, and report.html
with a curve for each. Seed 0 alone, 60 updates of 256 episodes, 17 minutes on two cores beside much other work: 8.0% of
the 50 held-out prompts before, 80.0% after (+72 points, 95% interval +55 to +82); `exact` from .08 to .80, `named` from
.24 to .92. The digit is copied first, which of the two is asked for comes later. With a learning rate of 1e-3, episodes
one update stale and no bonus for entropy it was 54.0% after 40 updates: groups that all say the same teach nothing.
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
    config.demonstrations.episodes = 0
    config.engine.max_new_tokens = 4
    config.ppo.advantages = "group"
    config.ppo.group_size = 8
    config.ppo.updates = 60
    config.ppo.min_batch = 256
    config.ppo.minibatch_rows = 64
    config.ppo.learning_rate = 5e-4
    config.ppo.entropy_bonus = 0.02
    config.ppo.max_staleness = 0
    return config
