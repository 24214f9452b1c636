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
    runs: tuple[str, ...] = field(
        (),
        "run directories of evaluate, one of each suite by each checkpoint",
        runs("folders of finished runs of evaluate, separated by commas"),
    )
    names: tuple[str, ...] = field((), "of the checkpoints, in the order in which they come; (): as the runs call them")
    output: str = field("", "empty for suites.html in the run directory; the tables in Markdown beside it")
    title: str = field("", "of the page")


def get_config() -> ConfigDict:
    return section(Suites)
