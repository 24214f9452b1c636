"""The value model of a policy that plays mazes.

Command:  ./launch/local.sh value_pretraining --config.model.preset=RUN_RFT/policy --config.seed=SEED

The policy plays on in rounds, until the value model has levelled off, which has not been measured yet.

Before that there was one round of 500 episodes, and 120 updates. Seed 0, from the policy of
`configs/rejection_sampling.py`, on a machine busy with other work: on held-out episodes the best value model (after 100
of 120 updates, which ran out before it levelled off) explains .11 of the returns' variance, where the simulator's state
and the remaining steps explain .54; correlation of value and return .34 over all tokens, -.05 over the first token of
each episode: before a word is said it knows nothing.
"""

import dataclasses

from ml_collections import ConfigDict

from configs import chain
from tars_jax.pipelines.learning_sections import ValueSection
from tars_jax.pipelines.schema import section
from tars_jax.rules import field_of, one_of
from tars_jax.training.config import PPOConfig


@dataclasses.dataclass(frozen=True)
class Discount:
    """The discount of RL, for which the value model is trained."""

    advantages: str = field_of(
        PPOConfig,
        "advantages",
        about="what gamma discounts: each token (gae) or each turn (turn)",
        rule=one_of("gae", "turn"),
    )
    gamma: float = field_of(PPOConfig, "gamma")


def get_config() -> ConfigDict:
    return chain.farther(
        chain.ReinforcedStage,
        value=section(ValueSection, episodes=500, max_episodes=2000, max_updates=240, evaluate_every=10, patience=3),
        ppo=section(Discount),
    )
