"""Flywheels and their controls, seeds of each, in one table and one figure; seconds.

Command:  ./launch/local.sh compare_flywheels --config.runs=runs/A,runs/B --config.output=figure.svg

Expected result: the figure (its ending says the format), and beside it, as .md, the table that is printed: the share of
V = 1 and held-out success of each setting by cycle, means over seeds with Student's 95% intervals.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.pipelines.command_fields import runs
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import field


@dataclasses.dataclass(frozen=True)
class CompareFlywheels(RunFields):
    """The flywheels to compare, and the figure."""

    runs: tuple[str, ...] = field(
        (), "run directories of finished flywheels", runs("directories of finished flywheels, separated by commas")
    )
    names: tuple[str, ...] = field(
        (), "name of each run's setting, the first of which is compared with the others; empty: their controls"
    )
    output: str = field("", "file of the figure; empty: flywheels.svg in the run directory")
    title: str = field("", "title of the figure")


def get_config() -> ConfigDict:
    return section(CompareFlywheels)
