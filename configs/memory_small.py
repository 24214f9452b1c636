"""Memory in a recipe: a sign is read, five to seven steps lie between it and the turn that it is about; text alone.

Command:  ./launch/local.sh train --config=memory_small --config.seed=SEED

Every step is a window of its own, and what went before stands in it as a line of at most twelve summaries, the last
clause of each thought: `Earlier: left; on; on`. Demonstrations say what the sign says where it stands, and turn any way
at the end half of the time. A guess is right one time in four, and so are agents without memory:

    ./launch/local.sh train --config=memory_small --config.agent.max_summaries=0       # nothing of what went before
    ./launch/local.sh train --config=memory_small --config.agent.max_summaries=0 \
        --config.agent.min_steps=2 --config.agent.max_steps=2                          # the last three steps alone

and with `--config.agent.line_tokens=16` the policy writes that line itself (docs/rollout.md), which PPO trains, too.

Seen with seed 0, 200 held-out corridors before and after 16 updates, each beside much other work:

| what is kept of earlier steps              | before | after                            | minutes |
|--------------------------------------------|--------|----------------------------------|---------|
| twelve summaries                           | 50.5%  | 98.0%, +47.5 points [40.0, 54.5] | 14      |
| a line of 16 tokens that the policy writes | 56.5%  | 95.5%, +39.0 points [31.3, 46.2] | 24      |
| nothing                                    | 21.5%  | 22.0%, +0.5 points [-7.6, 8.6]   | 10      |
| the last three steps                       | 20.0%  | 19.5%, -0.5 points [-8.3, 7.3]   | 17      |
"""

import ml_collections

from configs import train


def get_config() -> ml_collections.ConfigDict:
    config = train.get_config()
    config.environment = "corridor"
    config.task.evaluation_episodes = 200
    config.agent.min_steps = 0
    config.agent.max_steps = 0
    config.agent.max_summaries = 12
    config.agent.constrained = False  # a thought is what a summary is made of
    config.agent.list_actions = False
    config.agent.max_observation_tokens = 12
    config.engine.max_new_tokens = 24
    config.browser.pages = 16
    config.demonstrations.episodes = 400
    config.demonstrations.skill = 0.5
    config.supervised.updates = 200
    config.value.episodes = 100
    config.value.max_updates = 20
    config.ppo.updates = 16
    config.ppo.min_batch = 96
    config.ppo.minibatch_rows = 64
    config.ppo.learning_rate = 5e-4
    return config
