"""The flywheel over a text environment (tests/environments/alphabet.py): minutes a run, so that controls can be run.

Command:  ./launch/flywheel_controls.sh    # three seeds of the flywheel and of both controls, a table and a figure

Which of four letters comes first, of 20 letters: a cold start of 64 demonstrations that are right in 53%, then cycles
of 256 attempts at 128 fresh tasks, routing, CT and SFT. There is no RL: two updates of GRPO in each cycle moved
held-out success by half a point (one run of two cycles, SFT of 60 updates), as the tuned policy hardly explores.

**One seed was run, of the flywheel and of one control**, with much other work on both cores (9 minutes each, a fraction
of that alone). Seed 0, with Wilson's 95% intervals of the episodes of that run:

| share of V = 1                                | cycle 1           | cycle 2           | cycle 3           |
|-----------------------------------------------|-------------------|-------------------|-------------------|
| the flywheel                                  | 30.1% [25, 36]    | 65.6% [60, 71]    | 70.7% [65, 76]    |
| --config.control=first_cycle                  | 30.1% [25, 36]    | 65.6% [60, 71]    | 55.1% [49, 61]    |

Held-out success after cycles 0, 1, 2 and 3, of 200: 38.5, 70.5, 77.5, 79.0%; with the first cycle's data alone 38.5,
70.5, 65.0, 73.0%. Both are the same run up to cycle 2's attempts, as they should be. The share rises in each cycle, and
is 15.6 points [7, 24] above the control's in the third; held-out success at the end is 6 points [-2, 14] above it,
which does not show by one seed.
Not run: the control no_routing to its end, seeds 1 and 2, so no interval over seeds and no figure.
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
