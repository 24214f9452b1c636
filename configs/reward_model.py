"""A reward model of maze trajectories, from a policy that plays mazes and from what it has played.

Command:  ./launch/local.sh reward_model --config.model.preset=RUN/policy --config.trajectories=RUN/trajectories/ppo

Not measured yet.
"""

import ml_collections

from configs import quickstart


def get_config() -> ml_collections.ConfigDict:
    base = quickstart.get_config()
    config = ml_collections.ConfigDict()
    config.seed = 0
    config.run = ""  # run directory; empty: a new one under runs/
    for section in ("model", "mesh", "agent", "browser", "packing", "engine", "reward"):
        config[section] = base[section]
    config.reward.length_penalty = 0.0  # a verdict has one length
    config.model.preset = ""  # RUN/policy of an earlier stage
    config.trajectories = ()  # folders of earlier runs, such as RUN/trajectories/ppo
    config.screenshots = 5  # the last ones, as in the report
    config.held_out = 0.25  # share of the levels
    config.packing.row_length = 208  # six steps of a maze, five screenshots and a verdict
    config.packing.images_per_row = 5
    config.engine.max_length = 208
    config.engine.max_new_tokens = 12
    config.engine.length_buckets = (128, 208)
    config.annotated = base.supervised
    config.annotated.verdicts = 200  # the others are rewards only
    config.annotated.updates = 100
    config.annotated.batch_rows = 16
    config.annotated.learning_rate = 1e-3
    config.ppo = base.ppo
    config.ppo.updates = 20
    config.ppo.min_batch = 128  # verdicts sampled for an update
    config.ppo.minibatch_rows = 32
    config.ppo.positive_weight = 0.0
    return config
