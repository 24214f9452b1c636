"""The flywheel over a text environment (tests/environments/alphabet.py): minutes a run, so that controls can be run.

Command:  ./launch/flywheel_controls.sh    # three seeds of the flywheel and of both controls, a table and a figure

Which of four letters comes first, of 20 letters: a cold start of 64 demonstrations that are right in 53%, then cycles
of 256 attempts at 128 fresh tasks, routing, CT and SFT. There is no RL: two updates of GRPO in each cycle moved
held-out success by half a point (one run of two cycles, SFT of 60 updates), as the tuned policy hardly explores.

**Seed 0 of all three was run, and seed 1 of the flywheel**, with much other work on both cores (9 minutes each).
Wilson's 95% intervals of the episodes of single runs:

| share of V = 1         | cycle 1        | cycle 2        | cycle 3        | held out after cycles 0 to 3, of 200 |
|------------------------|----------------|----------------|----------------|--------------------------------------|
| the flywheel, seed 0   | 30.1% [25, 36] | 65.6% [60, 71] | 70.7% [65, 76] | 38.5, 70.5, 77.5, 79.0%              |
| first_cycle, seed 0    | 30.1% [25, 36] | 65.6% [60, 71] | 55.1% [49, 61] | 38.5, 70.5, 65.0, 73.0%              |
| no_routing, seed 0     | 16.0% [12, 21] | 15.6% [12, 21] | 13.3% [10, 18] | 15.0, 16.5, 21.0, 15.5%              |
| the flywheel, seed 1   | 40.2% [34, 46] | 79.7% [74, 84] | 75.0% [69, 80] | 42.0, 71.5, 82.0, 87.0%              |

The first two are one run up to cycle 2's attempts, as they should be. In seed 0 the share rises in each cycle; in the
third it is 15.6 points [7, 24] above data of the first cycle alone, and 57.4 [50, 64] above no routing, which does not
get better. In seed 1 the last cycle does not add to it (-4.7 points [-12, 3]). Held-out success
at the end is 6 points [-2, 14] above the first control's, which does not show by one seed, and 63.5 [55, 70] above the
second's. Not run: the controls of seed 1, and seed 2; so there is no interval over seeds, and no figure of them.
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
