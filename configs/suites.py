"""All suites of a checkpoint on one page, and checkpoints compared task by task; seconds.

Command:  ./launch/local.sh suites --config.runs=runs/A,runs/B,runs/C

Expected result: suites.html and suites.md from finished runs of `evaluate`: the tables 1 to 3 of the UI-TARS-2 report
with a row or column for each checkpoint, 95% intervals in brackets; published figures are marked, with the version of
the benchmark that they are of. Where two checkpoints have played the same suite, the difference over the tasks that
both have, paired.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.pipelines.command_fields import runs
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import field


@dataclasses.dataclass(frozen=True)
class Suites(RunFields):
    """The evaluation runs to show on one page."""

    runs: tuple[str, ...] = field(
        (),
        "run directories of evaluate: one of each suite for each checkpoint",
        runs("folders of finished runs of evaluate, separated by commas"),
    )
    names: tuple[str, ...] = field(
        (), "names of the checkpoints, in the order in which these come; (): as the runs call them"
    )
    output: str = field(
        "", "file of the page; empty: suites.html in the run directory. The tables in Markdown are written beside it"
    )
    title: str = field("", "title of the page")


def get_config() -> ConfigDict:
    return section(Suites)
