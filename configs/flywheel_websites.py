"""The flywheel over tasks of a real website at nano size: recorded solutions as cold start, held-out sites apart.

Command:  ./launch/local.sh flywheel --config=flywheel_websites    # after ./launch/websites.sh maildev fossil

Those shipped tasks whose recorded solution has at most six steps: 14 of maildev to train on (delete one email of five,
or two), and five of fossil, which synthesis holds out, of which four are measured. The cold start shows each task of
maildev once, by a player that waits in 30% of its moves and so runs out of steps in some; each cycle attempts every
task four times and imitates what was right.

Seed 0, in 55 minutes on two cores with a load of 10 to 30 from other work: V = 1 for 35.7, 53.8 and 55.4% of the
attempts of cycles 1 to 3 (+19.6 points [1, 36] from the first to the last), all but one of them at the eight tasks that
the cold start had solved (19 of 32, 28 of 29, 31 of 32); held out, 0 of 4 in every cycle. docs/websites.md has the
table, what it is worth, and what did not work.
"""

import json

import ml_collections

from configs import flywheel
from tars_jax.tasks.websites.task import SYNTHESIZED


def get_config() -> ml_collections.ConfigDict:
    config = flywheel.get_config()
    config.environment = "website_app"
    config.tasks = str(SYNTHESIZED)
    config.environment_options = json.dumps({"sites": ["maildev", "fossil"], "shown": [160, 112]})
    config.cycles = 3
    config.solution_steps, config.task.max_steps = 6, 6
    config.task.evaluation_episodes = 4
    config.keep.episodes = 1
    config.engine.max_new_tokens = 40  # a click takes 18
    config.browser.pages = 4
    config.demonstrations.episodes = 14  # each task once
    config.demonstrations.skill = 0.7  # in the other moves it waits
    config.sampling.tasks = 14
    config.sampling.samples = 4
    config.sampling.at_most = 4
    config.ct.updates = 20
    config.sft.updates = 60  # of a cycle: after 30 it solved nothing
    config.ppo.updates = 0  # RL is left out: it costs as much again as all the rest
    config.evaluate_ct = False
    return config
