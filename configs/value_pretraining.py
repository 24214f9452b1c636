"""The value model of a policy that plays mazes.

Command:  ./launch/local.sh value_pretraining --config.model.preset=RUN_RFT/policy --config.seed=SEED

The policy plays on in rounds, until the value model has levelled off, which has not been measured yet.

Before that there was one round of 500 episodes, and 120 updates. Seed 0, from the policy of
`configs/rejection_sampling.py`, on a machine busy with other work: on held-out episodes the best value model (after 100
of 120 updates, which ran out before it levelled off) explains .11 of the returns' variance, where the simulator's state
and the remaining steps explain .54; correlation of value and return .34 over all tokens, -.05 over the first token of
each episode: before a word is said it knows nothing.
"""

import ml_collections

from configs import chain, quickstart


def get_config() -> ml_collections.ConfigDict:
    base = quickstart.get_config()
    config = chain.farther()
    config.recipe = base.recipe
    config.value = base.value
    config.value.episodes = 500
    config.value.max_episodes = 2000
    config.value.max_updates = 240
    config.value.evaluate_every = 10
    config.value.patience = 3
    # How RL will discount: `gamma` each token (gae) or each turn (turn).
    config.ppo = ml_collections.ConfigDict({"advantages": "gae", "gamma": 1.0})
    return config
