"""A shell at nano size: a word is looked for in files of a container, demonstrations that err, then PPO.

Commands:
  ./launch/local.sh train --config=computer_small --config.seed=SEED
  ./launch/local.sh step_budgets --config.suite=environment --config.environment=computer
      --config.environment_options='{"task": "find_word", "level": 1}' --config.budgets=1,2,3,4,6,8
      --config.contestants=RUN/policy,reference,random --config.episodes=100

For T8 on tasks of computers: success against the step budget of a policy that PPO has made shorter. Not run to an end
yet.
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
