"""Finished runs in one figure, a color for each setting and a line for each seed; seconds.

Command:  ./launch/local.sh compare --config.runs=runs/A,runs/B --config.output=figure.svg

Expected result: the figure (its ending says the format), and one line a run with the scores before and after.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "runs": (),  # run directories
            "output": "",  # "" for comparison.svg in the run directory
            "title": "",
            "sections": ("Improvement by PPO",),  # of the report's curves
            "seed": 0,
            "run": "",
        }
    )
