"""The scoreboard with two seeds and two updates: everything runs, and nothing is measured.

Command:  ./launch/local.sh scoreboard --config=scoreboard_small --config.trends=T1
"""

import ml_collections

from configs import scoreboard


def get_config() -> ml_collections.ConfigDict:
    config = scoreboard.get_config()
    config.seeds, config.tuning_seeds, config.learning_rates = 2, 1, (5e-4,)
    agent = config.agent
    agent.rollout.episodes = 8
    agent.demonstrations.episodes = 8
    agent.supervised.update({"updates": 2, "part": 0, "episodes": 4, "batch_rows": 16})
    agent.value.update({"updates": 2, "part": 0, "episodes": 8, "minibatch_rows": 16})
    agent.ppo.update({"updates": 2, "part": 0, "minibatch_rows": 16})
    config.annotation.update({"rounds": 2, "human_steps": 8, "episodes": 8, "earlier_rows": 16, "updates": 2})
    config.annotation.update({"batch_rows": 8, "evaluation_episodes": 8})
    return config
