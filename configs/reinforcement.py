"""Multi-turn PPO on mazes along the quickstart's curriculum, from any policy and value model.

Command:  ./launch/local.sh reinforcement --config.model.preset=RUN_RFT/policy --config.value.checkpoint=RUN_V/value

Seed 0, from the policy of `configs/rejection_sampling.py` and the value model of `configs/value_pretraining.py`, on a
machine busy with other work: 8 updates of 128 episodes show no improvement: 54% before and 52% after of 100 held-out
mazes, -2.0 points [-16, +12]. The policy's entropy is .12 nats a token: it comes from players who seldom wander, unlike
that of the quickstart, whose PPO gains 30 points.
"""

import dataclasses

from ml_collections import ConfigDict

from configs import chain
from tars_jax.pipelines.learning_sections import PPOSection
from tars_jax.pipelines.run_sections import WEIGHTS
from tars_jax.pipelines.schema import section
from tars_jax.rollout.curriculum import CurriculumConfig
from tars_jax.rules import Rule, field


@dataclasses.dataclass(frozen=True)
class EarlierValue:
    """The value model that PPO starts with."""

    checkpoint: str = field(
        "",
        "folder of the value model: RUN/value of a value_pretraining; empty: a new head on the policy's trunk",
        Rule(
            lambda name: not name or WEIGHTS.accepts(name),
            "RUN/value of a value_pretraining, or nothing for a fresh one",
        ),
    )


def get_config() -> ConfigDict:
    return chain.farther(
        chain.ReinforcedStage,
        value=section(EarlierValue),
        ppo=section(PPOSection, updates=8, min_batch=128),
        curriculum=section(CurriculumConfig, stages=(5, 6), nearest=3),
    )
