"""The value model of a policy that plays mazes.

Command:  ./launch/local.sh value_pretraining --config.model.preset=RUN_RFT/policy --config.seed=SEED

Not measured yet.
"""

import ml_collections

from configs import chain, quickstart


def get_config() -> ml_collections.ConfigDict:
    config = chain.get_config()
    config.model.preset = ""  # RUN/policy of an earlier stage
    config.value = quickstart.get_config().value
    config.value.episodes = 500
    config.value.max_updates = 120
    config.value.evaluate_every = 10
    config.value.patience = 3
    return config
