"""Specialists of several environments or interfaces, their merges, and an agent of all, at equal cost in episodes.

Command:  ./launch/local.sh merge_hybrid --config.environment=NAME --config.environment_options=JSON
          --config.mixture.weights=1,1 [--config.composites=1+2] [--config.seed=SEED]
          ./launch/local.sh merge_hybrid --config=verticals [--config.seed=SEED]

Parts as `train` has them (docs/rl.md). All agents begin with one policy, from the demonstrations of all parts. A
specialist makes `ppo.updates` updates of `ppo.min_batch` episodes, the hybrid as many as all specialists together, so
that a merge and the hybrid have cost the same. What is printed is success on held-out tasks of each part, and of each
composite, one episode that needs several of them; and for each part whether a merge and the hybrid are almost
comparable to its specialist. Figures of one seed stand in configs/hybrid_small.py.
"""

import dataclasses

from ml_collections import ConfigDict

from configs import train
from tars_jax.pipelines.learning_sections import LEAST_WEIGHT, MOST_WEIGHT, MixtureSection, are_weights
from tars_jax.pipelines.schema import section
from tars_jax.rules import Rule, between, field, field_of


@dataclasses.dataclass(frozen=True)
class MergeHybrid(train.Learned):
    """Specialists of the mixture's parts, their merges, and a hybrid agent of all parts."""

    merges: tuple[str, ...] = field(
        (),
        "merges, each given by the specialists' weights in the parts' order, such as 2:1:1; empty: one "
        "merge of equal weights",
    )
    hybrid: bool = field(True, "whether a hybrid agent is trained on all parts, for comparison with the merges")
    composites: tuple[str, ...] = field(
        (), "composite tasks, which need several parts in one episode, by the parts' numbers, such as 1+2"
    )
    tolerance: float = field(
        0.1, "largest difference to a specialist's success rate that counts as almost comparable", between(0, 1)
    )


@dataclasses.dataclass(frozen=True)
class Parts(MixtureSection):
    """The parts of the mixture, each of which has a specialist."""

    weights: tuple[float, ...] = field_of(
        MixtureSection,
        "weights",
        about="weights of the parts",
        rule=Rule(
            lambda values: len(values) > 1 and are_weights(values),
            f"a number from {LEAST_WEIGHT} to {MOST_WEIGHT} for each of two parts or more",
        ),
    )


def get_config() -> ConfigDict:
    config = train.get_config(MergeHybrid)
    del config.server
    config.mixture = section(Parts)
    return config
