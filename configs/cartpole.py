"""CartPole from random weights: every field is what `train` chooses.

Command:  ./launch/local.sh train --config=cartpole --config.seed=SEED

Expected result: RUN/policy, result.json with the mean return on 40 held-out episodes before and after, report.html.
Seed 0 alone, after 6 of the 36 updates (554 episodes), on a machine that did much else: 17.5 [15.3, 19.9] before, 144
[118, 169] after, +126 [101, 151]. Of the training episodes of each update 15.3, 14.9, 15.5, 24.0, 25.7 and 39.9. Its
evaluation before and its value model were those of a run with smaller batches. A whole run has not been made. With
batches of 16 episodes (about 230 steps) the returns of training episodes were between 11.6 and 17.0 in 8 updates.
"""

import ml_collections

from configs import train


def get_config() -> ml_collections.ConfigDict:
    config = train.get_config()
    config.environment = "gymnasium:CartPole-v1"
    return config
