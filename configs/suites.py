"""All suites of a checkpoint on one page, and checkpoints compared task by task; seconds.

Command:  ./launch/local.sh suites --config.runs=runs/A,runs/B,runs/C

Expected result: suites.html and suites.md from finished runs of `evaluate`: the tables 1 to 3 of the UI-TARS-2 report
with a row or column for each checkpoint, 95% intervals in brackets; published figures are marked, with the version of
the benchmark that they are of. Where two checkpoints have played the same suite, the difference over the tasks that
both have, paired.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "runs": (),  # run directories of evaluate, one of each suite by each checkpoint
            "names": (),  # of the checkpoints, in the order in which they come; (): as the runs call them
            "output": "",  # "" for suites.html in the run directory; the tables in Markdown beside it
            "title": "",
            "seed": 0,
            "run": "",
        }
    )
