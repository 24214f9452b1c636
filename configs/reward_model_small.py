"""A small reward model of text traces: its verdicts, and whether its scores are probabilities.

Command:  ./launch/local.sh reward_model --config=reward_model_small --config.model.preset=RUN/policy
              --config.trajectories=RUN/trajectories/ppo, --config.seed=SEED    # RUN of configs/echo_small.py

40% of the levels are held out: one half fits the map from scores to probabilities, the other half says what it is
worth (`calibration` in result.json, and a table in report.html). Minutes; docs/reward_models.md has what came of it.
"""

import ml_collections

from configs import reward_model


def get_config() -> ml_collections.ConfigDict:
    config = reward_model.get_config()
    config.held_out = 0.4
    config.browser.pages = 16
    config.packing.row_length = 80
    config.packing.images_per_row = 1
    config.engine.max_length = 80
    config.engine.length_buckets = (80,)
    config.annotated.verdicts = 30
    config.annotated.updates = 40
    config.ppo.updates = 2
    config.ppo.min_batch = 64
    config.ppo.minibatch_rows = 64
    return config
