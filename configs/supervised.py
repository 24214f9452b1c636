"""Supervised fine-tuning on solved mazes, from scratch or from a continual pre-training.

Command:  ./launch/local.sh supervised --config.model.preset=RUN_CT/policy --config.seed=SEED

Seed 0, 100 held-out mazes of 1 to 4 moves, on a machine busy with other work; 755 of 800 demonstrations were solved and
imitated, 300 updates:

| start                                      | before | after |
|--------------------------------------------|--------|-------|
| fresh weights (--config.model.preset=nano) | 0%     | 79%   |
| `configs/continual_pretraining.py`         | 2%     | 88%   |

Nine points for the continual pre-training, [-1, +19]: one seed cannot tell that from chance.
"""

import ml_collections

from configs import chain


def get_config() -> ml_collections.ConfigDict:
    config = chain.imitation(episodes=800)
    config.demonstrations.skills = (0.8,)
    config.demonstrations.verdict = "solved"
    config.supervised.updates = 300
    return config
