"""Continual pre-training: four games, players from clueless to perfect, failures too, the loss on all text.

Command:  ./launch/local.sh continual_pretraining --config.seed=SEED [--config.demonstrations.datasets=RUN/...]

Seed 0, on a machine busy with other work: 600 episodes, half of them solved; 200 updates in which the loss on all text
fell from 1.1 to .2. It learns the form, not the games: 0 of 100 held-out episodes of the four games were solved before
and after, but 98 of them were well-formed to their ends, with thoughts and calls of the right game.
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
