"""The flywheel over tasks of real websites at nano size: recorded solutions as cold start, held-out sites apart.

Command:  ./launch/local.sh flywheel --config=flywheel_websites    # after ./launch/websites.sh radicale fossil

Those shipped tasks whose recorded solution has at most six steps: seven of radicale to train on, five of fossil, which
synthesis holds out, to be measured by. docs/websites.md says what has been run of it, which is little.
"""

import json

import ml_collections

from configs import flywheel
from tars_jax.tasks.websites.task import SYNTHESIZED


def get_config() -> ml_collections.ConfigDict:
    config = flywheel.get_config()
    config.environment = "website_app"
    config.tasks = str(SYNTHESIZED)
    config.environment_options = json.dumps({"sites": ["radicale", "fossil"], "shown": [160, 112]})
    config.cycles = 2
    config.solution_steps, config.task.max_steps = 6, 7
    config.task.evaluation_episodes = 4
    config.keep.episodes = 1
    config.engine.max_new_tokens = 0  # as the recorded solutions take
    config.browser.pages = 4
    config.demonstrations.episodes = 84
    config.demonstrations.skill = 0.8
    config.sampling.tasks = 14
    config.sampling.samples = 3
    config.sampling.at_most = 4
    config.ct.updates = 30
    config.sft.updates = 200
    config.ppo.updates = 2
    config.ppo.min_batch = 24
    config.value.episodes = 24
    config.value.max_updates = 20
    config.evaluate_ct = False
    return config
