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
    """Specialists of the parts of a mixture, their merges, and an agent of all parts."""

    merges: tuple[str, ...] = field(
        (),
        "weights of the specialists, in the parts' order, such as 2:1:1; each is a merge. Empty: one, of equal weights",
    )
    hybrid: bool = field(True, "beside the merges an agent that trains on all parts")
    composites: tuple[str, ...] = field(
        (), "tasks that need several parts in one episode, by their numbers, such as 1+2"
    )
    tolerance: float = field(
        0.1, "what is at most so far below a specialist's success is almost comparable to it", between(0, 1)
    )


@dataclasses.dataclass(frozen=True)
class Parts(MixtureSection):
    """What specialists are of, and an update's batch is mixed of."""

    weights: tuple[float, ...] = field_of(
        MixtureSection,
        "weights",
        about="of the parts",
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
