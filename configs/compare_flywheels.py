"""Flywheels and their controls, seeds of each, in one table and one figure; seconds.

Command:  ./launch/local.sh compare_flywheels --config.runs=runs/A,runs/B --config.output=figure.svg

Expected result: the figure (its ending says the format), and beside it, as .md, the table that is printed: the share of
V = 1 and held-out success of each setting by cycle, means over seeds with Student's 95% intervals.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "runs": (),  # run directories of finished flywheels
            # A setting's name for each run, the first of which is compared with the others; empty: their controls.
            "names": (),
            "output": "",  # "" for flywheels.svg in the run directory
            "title": "",
            "seed": 0,
            "run": "",
        }
    )
