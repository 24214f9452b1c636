"""Continual pre-training: four games, players from clueless to perfect, failures too, the loss on all text.

Command:  ./launch/local.sh continual_pretraining --config.seed=SEED [--config.demonstrations.trajectories=RUN/...]

Not measured yet.
"""

import ml_collections

from configs import chain


def get_config() -> ml_collections.ConfigDict:
    config = chain.imitation(episodes=600)
    config.games = ("maze_path_of_light", "infinity_loop", "game_2048", "tiles_master")
    config.demonstrations.skills = (0.0, 0.5, 1.0)
    config.supervised.loss_on = "text"  # not published in the report; pre-training's own
    config.supervised.updates = 200
    config.supervised.batch_rows = 24
    config.packing.row_length = 80
    config.packing.images_per_row = 2
    config.engine.max_length = 96
    config.engine.max_new_tokens = 28
    config.engine.length_buckets = (48, 96)
    return config
