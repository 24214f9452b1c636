"""CartPole from random weights: every field is what `train` chooses.

Command:  ./launch/local.sh train --config=cartpole --config.seed=SEED

Expected result: RUN/policy, result.json with the mean return on 40 held-out episodes before and after, report.html.
Three seeds have been run whole, 24 updates each, on two cores that did much else:
- seed 0, 12.0 minutes, 1,022 episodes: from 17.5 [15.3, 20.0] to 220 [200, 240], +202 [183, 223]. Training episodes of
  updates 1 to 14 returned 11 to 41, those of updates 18 to 24 142 to 216.
- seed 1, 36.6 minutes, 587 episodes: from 11.8 [10.8, 12.9] to 174 [158, 190], +163 [147, 178].
- seed 2, since only decisions count (docs/rl.md) and batches are in order, 25.9 minutes, 661 episodes: from
  16.8 [14.4, 19.6] to 139 [119, 159], +122 [102, 143]. Training episodes of updates 1 to 10 returned 15 to 43, of
  11 to 22 116 to 185, of 23 and 24 238 and 226.
475, which is success, was not reached.
"""

import ml_collections

from configs import train


def get_config() -> ml_collections.ConfigDict:
    config = train.get_config()
    config.environment = "gymnasium:CartPole-v1"
    return config
