"""The flywheel over tasks of real websites at nano size: recorded solutions as cold start, held-out sites apart.

Command:  ./launch/local.sh flywheel --config=flywheel_websites    # after ./launch/websites.sh trac fossil

Those shipped tasks whose recorded solution has at most six steps: 19 of trac to train on, and five of fossil, which
synthesis holds out, of which four are measured. The cold start shows each task of trac once; each cycle attempts every
task twice and imitates what was right. docs/websites.md says what was run of it: the first cycle, and no learning yet.
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
    config.demonstrations.episodes = 19  # each task once
    config.demonstrations.skill = 1.0
    config.sampling.tasks = 19
    config.sampling.samples = 2
    config.sampling.at_most = 4
    config.ct.updates = 20
    config.sft.updates = 30  # of a cycle: sure of what it was shown after 80, it tries nothing else
    config.ppo.updates = 0  # RL is left out: it costs as much again as all the rest
    config.evaluate_ct = False
    return config
