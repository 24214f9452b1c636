"""One agent out of several that were trained from one start: a weighted mean of their parameters.

Command:  ./launch/local.sh merge --config.checkpoints=A/policy,B/policy --config.weights=.5,.5 --config.output=DIR

Seconds for nano policies, else as long as it takes to read the checkpoints twice (once to check them) and write one.
Expected result: the folder DIR, which everything that takes exported weights takes.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import Rule, field


def are_weights(values: tuple[float, ...]) -> bool:
    """Whether they can be weights of a mean."""
    return not values or (min(values) >= 0 and abs(sum(values) - 1) < 1e-6)


WEIGHTS = Rule(are_weights, "a number of 0 or more for each checkpoint, which sum to 1, or () for the default")


@dataclasses.dataclass(frozen=True)
class Merge(RunFields):
    """The checkpoints to merge, and their weights."""

    checkpoints: tuple[str, ...] = field(
        (),
        "folders of exported weights to merge (supervised, policy, ...)",
        Rule(
            lambda paths: len(paths) >= 2,
            "two or more folders of exported weights: --config.checkpoints=RUN_A/policy,RUN_B/policy",
        ),
    )
    weights: tuple[float, ...] = field((), "weight of each checkpoint, in their order; (): all equal", WEIGHTS)
    unrelated: bool = field(False, "whether checkpoints may be merged that record no common ancestor")
    output: str = field("", "folder of the merged checkpoint; empty: merged in the run directory")


@dataclasses.dataclass(frozen=True)
class Groups:
    """Weights of parameter groups; () for the merge's own weights."""

    vision: tuple[float, ...] = field((), "weight of each checkpoint's vision encoder", WEIGHTS)
    experts: tuple[float, ...] = field((), "weight of each checkpoint's experts", WEIGHTS)


def get_config() -> ConfigDict:
    return section(Merge, groups=section(Groups))
