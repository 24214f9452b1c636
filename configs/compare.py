"""Finished runs in one figure, a color for each setting and a line for each seed; seconds.

Command:  ./launch/local.sh compare --config.runs=runs/A,runs/B --config.output=figure.svg

Expected result: the figure (its ending says the format), one line a run with the scores before and after, and beside
the figure, as .md, a table of what PPO did: whether reward (T1) and entropy (T2) rose, and whether
thoughts (T4) and episodes (T6) grew shorter, over the seeds of each setting.

The curves of the report's figure 7, a game, Browsing and a website, from finished runs of any number of seeds of each:

  ./launch/local.sh compare --config.runs=GAME_0,GAME_1,BROWSING_0,BROWSING_1,WEBSITE_0,WEBSITE_1
      --config.names=game,browsing,website --config.output=figure7.svg

The report's figure 13, one agent that trains on all fifteen games, from finished runs of configs/games15.py:

  ./launch/local.sh compare --config.runs=SEED_0,SEED_1 --config.sections='Each game while PPO trains,'
      --config.output=figure13.svg
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.evaluation.curves import DEFAULT_CURVES, GAME_SECTION
from tars_jax.pipelines.command_fields import runs
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import each, field, one_of

SECTIONS = (*dict.fromkeys(curve.section for curve in DEFAULT_CURVES), GAME_SECTION)


@dataclasses.dataclass(frozen=True)
class Compare(RunFields):
    """The runs to compare, and the figure."""

    runs: tuple[str, ...] = field(
        (),
        "run directories to compare",
        runs("directories of finished runs, separated by commas"),
    )
    names: tuple[str, ...] = field(
        (), "names of the settings, in the order in which these come; empty: the fields in which they differ"
    )
    output: str = field("", "file of the figure; empty: comparison.svg in the run directory")
    title: str = field("", "title of the figure")
    sections: tuple[str, ...] = field(
        ("Improvement by PPO",),
        'figures of the report that are drawn; "Each game while PPO trains" has two for each game, with '
        "scripted players' lines",
        each(one_of(*SECTIONS)),
    )


def get_config() -> ConfigDict:
    return section(Compare)
