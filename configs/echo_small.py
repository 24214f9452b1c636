"""An agent without pages, for what takes many runs: two words of a text are to be said. Six updates leave its traces.

Command:  ./launch/local.sh train --config=echo_small --config.seed=SEED --config.run=RUN

About 1,200 traces, of which 40% are solved: `configs/reward_model_small.py` learns to judge them, and
`launch/reward_hacking.sh` puts such a judge into the loop (docs/reward_models.md).
"""

import ml_collections

from configs import train


def get_config() -> ml_collections.ConfigDict:
    config = train.get_config()
    config.environment = "tars_jax.envs.examples.text_echo:TextEcho"
    config.agent.list_actions = False
    config.agent.thought = "never"
    config.agent.max_observation_tokens = 8
    config.engine.max_new_tokens = 20
    config.browser.pages = 16
    config.demonstrations.episodes = 0
    config.value.episodes = 100
    config.value.max_updates = 20
    config.ppo.updates = 6
    config.ppo.min_batch = 192
    config.ppo.minibatch_rows = 64
    config.ppo.learning_rate = 1e-3
    return config
