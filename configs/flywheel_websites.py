"""The flywheel over tasks of real websites at nano size: recorded solutions as cold start, held-out sites apart.

Command:  ./launch/local.sh flywheel --config=flywheel_websites    # after ./launch/websites.sh trac fossil

Those shipped tasks whose recorded solution has at most five steps: 19 of trac to train on, and three of fossil, which
synthesis holds out. Ten of the tasks are shown once, by their recorded solution; the others are for the policy to find
out: each cycle attempts every task four times, and what was right is imitated.
"""

import json

import ml_collections

from configs import flywheel
from tars_jax.tasks.websites.task import SYNTHESIZED


def get_config() -> ml_collections.ConfigDict:
    config = flywheel.get_config()
    config.environment = "website_app"
    config.tasks = str(SYNTHESIZED)
    config.environment_options = json.dumps({"sites": ["trac", "fossil"], "shown": [160, 112]})
    config.cycles = 3
    config.solution_steps, config.task.max_steps = 6, 7
    config.task.evaluation_episodes = 4
    config.keep.episodes = 1
    config.engine.max_new_tokens = 40  # the longest answer of a recorded solution takes 34
    config.browser.pages = 4
    config.demonstrations.episodes = 10  # of 19 tasks
    config.demonstrations.skill = 1.0
    config.sampling.tasks = 19
    config.sampling.samples = 4
    config.sampling.at_most = 4
    config.ct.updates = 20
    config.sft.updates = 150
    config.ppo.updates = 2
    config.ppo.min_batch = 19
    config.value.episodes = 19
    config.value.max_updates = 20
    config.evaluate_ct = False
    return config
