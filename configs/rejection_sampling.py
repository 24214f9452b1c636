"""Rejection-sampling fine-tuning on mazes.

Command:  ./launch/local.sh rejection_sampling --config.model.preset=RUN_SFT/policy --config.seed=SEED

Not measured yet.
"""

import ml_collections

from configs import chain, quickstart


def get_config() -> ml_collections.ConfigDict:
    config = chain.get_config()
    config.model.preset = ""  # RUN/policy of an earlier stage
    config.sampling = ml_collections.ConfigDict(
        {
            "tasks": 120,
            "samples": 4,  # attempts at each task
            "at_most": 2,  # solutions kept of each task: verified, well-formed, with different actions
            "prefer": "shortest",  # or first, as they were sampled
        }
    )
    config.tuning = quickstart.get_config().supervised.copy_and_resolve_references()
    del config.tuning.updates
    config.tuning.epochs = 3  # over what was kept
    config.tuning.learning_rate = 5e-4
    return config
