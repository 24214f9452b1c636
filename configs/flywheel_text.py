"""The flywheel over a text environment (envs/examples/alphabet.py): minutes a run, so that controls can be run.

Command:  ./launch/flywheel_controls.sh    # three seeds of the flywheel and of both controls, a table and a figure

Which of four letters comes first, of 20 letters: a cold start of 64 demonstrations that are right in 53%, then cycles
of 256 attempts at 128 fresh tasks, routing, CT and SFT. There is no RL: two updates of GRPO in each cycle moved
held-out success by half a point (one run of two cycles, SFT of 60 updates), as the tuned policy hardly explores.

Three seeds of each, with Student's 95% intervals over seeds (1 to 2 minutes a run beside a run of all tests):

| share of V = 1                | cycle 1       | cycle 2       | cycle 3       | the flywheel is ahead by |
|-------------------------------|---------------|---------------|---------------|--------------------------|
| the flywheel                  | 34.8 [22, 47] | 71.5 [53, 90] | 75.3 [64, 87] |                          |
| --config.control=first_cycle  | 34.8 [22, 47] | 71.5 [53, 90] | 65.4 [38, 93] | +9.9 points [-6, 26]     |
| --config.control=no_routing   | 23.2 [8, 39]  | 27.2 [0, 54]  | 21.6 [2, 41]  | +53.6 [46, 62]           |

| success, 200 held-out tasks   | cycle 0       | cycle 1       | cycle 2       | cycle 3       | ahead by       |
|-------------------------------|---------------|---------------|---------------|---------------|----------------|
| the flywheel                  | 37.5 [25, 50] | 72.5 [66, 79] | 80.7 [74, 88] | 84.8 [72, 98] |                |
| --config.control=first_cycle  | 37.5 [25, 50] | 72.5 [66, 79] | 72.7 [56, 90] | 78.2 [67, 89] | +6.7 [5, 9]    |
| --config.control=no_routing   | 24.3 [4, 45]  | 25.5 [6, 45]  | 27.2 [10, 44] | 26.5 [2, 51]  | +58.3 [47, 70] |

The share of V = 1 rises by 40.5 points [26, 55] from the first cycle to the last, most of it in the second; in one seed
of three it falls a little in the last. What the later cycles' data add is seen in held-out success; by the share of
V = 1 alone three seeds do not tell it from training on the first cycle's data. Without routing nothing is learned.
"""

import ml_collections

from configs import flywheel


def get_config() -> ml_collections.ConfigDict:
    config = flywheel.get_config()
    config.environment = "tars_jax.envs.examples.alphabet:Alphabet"
    config.environment_options = "{}"
    config.agent.thought = "never"
    config.agent.max_observation_tokens = 8
    config.agent.show_budget = False
    config.engine.max_new_tokens = 20
    config.browser.pages = 16
    config.task.max_steps = 1
    config.text.datasets = ()  # as it was measured; CT has the agent's episodes alone
    config.task.evaluation_episodes = 200
    config.demonstrations.episodes = 64
    config.demonstrations.skill = 0.5
    config.sampling.tasks = 128
    config.ct.updates = 10
    config.sft.updates = 30
    config.ppo.updates = 0  # what routing and fresh data do is what is compared
    config.evaluate_ct = False
    return config
