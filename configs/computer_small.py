"""A shell at nano size: a word is looked for in files of a container, demonstrations that err, then PPO.

Commands:
  ./launch/local.sh train --config=computer_small --config.seed=SEED
  ./launch/local.sh step_budgets --config.suite=environment --config.environment=computer
      --config.environment_options='{"task": "find_word", "level": 1}' --config.budgets=1,2,4,8,16
      --config.contestants=RUN/policy,RUN/supervised --config.episodes=60

Seen with seed 0, in 109 minutes beside much other work: 55.5% of 200 held-out tasks before PPO and 87.5% after (+32.0
points [23.4, 39.9]); from the first two updates to the last two the reward rises from .41 to .78 and, unlike in
browsers, entropy from .057 to .098 nats (T1, T2); episodes have 2.64 and 2.46 steps (T6), of which two are the fewest.
Success of 60 held-out tasks, each budget played anew (T8):

| steps | after PPO          | before             |
|-------|--------------------|--------------------|
| 1     | 0.0% [0.0, 6.0]    | 0.0% [0.0, 6.0]    |
| 2     | 80.0% [68.2, 88.2] | 56.7% [44.1, 68.4] |
| 4     | 80.0% [68.2, 88.2] | 51.7% [39.3, 63.8] |
| 8     | 90.0% [79.9, 95.3] | 51.7% [39.3, 63.8] |
| 16    | 46.7% [34.6, 59.1] | 38.3% [27.1, 51.0] |

So it rises up to the budget of training, 8, and falls beyond it, where prompts name numbers that this policy has never
read; the start does not rise at all. A command that waits for input (`grep WORD` without a file) takes the two minutes
that any command may take, once for each episode in which it comes.
"""

import json

import ml_collections

from configs import train

OPTIONS = {"task": "find_word", "level": 1}


def get_config() -> ml_collections.ConfigDict:
    config = train.get_config()
    config.environment = "computer"
    config.environment_options = json.dumps(OPTIONS)
    config.task.evaluation_episodes = 200
    config.agent.list_actions = False
    config.agent.thought = "never"
    config.agent.max_observation_tokens = 32
    config.browser.pages = 16
    config.demonstrations.episodes = 1000
    config.demonstrations.skill = 0.5
    config.supervised.updates = 300
    config.value.episodes = 100
    config.value.max_updates = 20
    config.ppo.updates = 16
    config.ppo.min_batch = 192
    config.ppo.minibatch_rows = 64
    config.ppo.learning_rate = 1e-3
    return config
