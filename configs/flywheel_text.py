"""The flywheel over a text environment (tests/environments/alphabet.py): minutes a run, so that controls can be run.

Command:  ./launch/flywheel_controls.sh    # three seeds of the flywheel and of both controls, a table and a figure
"""

import ml_collections

from configs import flywheel


def get_config() -> ml_collections.ConfigDict:
    config = flywheel.get_config()
    config.environment = "tests.environments.alphabet:Alphabet"
    config.environment_options = "{}"
    config.agent.thought = "never"
    config.agent.max_observation_tokens = 8
    config.agent.show_budget = False
    config.engine.max_new_tokens = 20
    config.browser.pages = 16
    config.task.max_steps = 1
    config.task.evaluation_episodes = 200
    config.demonstrations.episodes = 64
    config.demonstrations.skill = 0.5
    config.sampling.tasks = 128
    config.ct.updates = 10
    config.sft.updates = 30
    config.ppo.updates = 0  # what routing and fresh data do is what is compared
    config.evaluate_ct = False
    return config
