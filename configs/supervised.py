"""Supervised fine-tuning on solved mazes, from scratch or from a continual pre-training.

Command:  ./launch/local.sh supervised --config.model.preset=RUN_CT/policy --config.seed=SEED

Not measured yet.
"""

import ml_collections

from configs import chain


def get_config() -> ml_collections.ConfigDict:
    config = chain.imitation(episodes=800)
    config.demonstrations.skills = (0.8,)
    config.demonstrations.verdict = "solved"
    config.supervised.updates = 300
    return config
