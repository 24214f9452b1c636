"""FrozenLake, which is slippery, from random weights: every field is what `train` chooses.

Command:  ./launch/local.sh train --config=frozen_lake --config.seed=SEED

It hardly learns: of 400 held-out episodes before and after 36 updates (some 6,200 episodes; 9 minutes on two idle
cores, 30 beside other work) reached the goal
- seed 0: 1.0 and 3.0 % [1.7, 5.2], +2.0 [-0.0, 4.3];
- seed 1: 2.0 and 6.0 % [4.1, 8.8], +4.0 [1.3, 6.9];
- seed 2: 1.5 and 3.2 % [1.9, 5.5], +1.8 [-0.4, 4.1].
At its end the policy prefers one action in all states, and few episodes earn anything that would tell states apart.
"""

import ml_collections

from configs import train


def get_config() -> ml_collections.ConfigDict:
    config = train.get_config()
    config.environment = "gymnasium:FrozenLake-v1"
    return config
