"""Browsing at nano size: four pages of an encyclopedia at 224x160 pixels, demonstrations that err, then PPO.

Command:  ./launch/local.sh train --config=browsing_small --config.seed=SEED

For T1, T4 and T6 on Browsing tasks: the report of the run draws reward, steps and think tokens over updates, and
`compare` judges them over several runs. By screenshots alone, where a guess at the color is right in 25%; the last
columns are means of the first two updates and of the last two:

| seed | held-out tasks solved, before and after  | reward     | entropy, nats | think tokens | steps        | minutes |
|------|------------------------------------------|------------|---------------|--------------|--------------|---------|
| 0    | 64.0 to 94.0% (+30.0 points [19, 40])    |            |               | stay at 3.1  |              | 72      |
| 1    | 65.0 to 98.0% (+33.0 points [23, 43])    | .63 to .97 | .084 to .053  | 3.0 to 3.0   | 2.44 to 2.18 | 35      |

So rewards rise (T1), thoughts have nothing to lose (T4), episodes get shorter (T6; two steps are the fewest), and
entropy falls. The value model explains .01 of the variance of held-out returns or less. Both beside other work.
"""

import ml_collections

from configs import train


def get_config() -> ml_collections.ConfigDict:
    config = train.get_config()
    config.environment = "tars_jax.envs.examples.small_encyclopedia:SmallEncyclopedia"
    config.task.max_steps = 4
    config.task.evaluation_episodes = 100
    config.agent.constrained = False
    config.agent.list_actions = False
    config.agent.max_observation_tokens = 0
    config.engine.max_new_tokens = 28
    config.browser.pages = 8
    config.demonstrations.episodes = 500
    config.demonstrations.skill = 0.6
    config.supervised.updates = 300
    config.value.episodes = 200
    config.value.max_updates = 60
    config.ppo.updates = 10
    config.ppo.min_batch = 96
    config.ppo.minibatch_rows = 64
    config.ppo.learning_rate = 5e-4
    return config
