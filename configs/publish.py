"""A finished run as a small archive: config, lock, code version, seeds, metrics, figures, a README; seconds.

Command:  ./launch/local.sh publish RUN [--config.checkpoint=policy] [--config.trajectories=updates]

Expected result: RUN.zip beside RUN, the same bytes each time, with no absolute path, host or user name in it.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
    return ConfigDict(
        {
            "source": "",  # the run directory
            "checkpoint": "none",  # policy: the final weights; all: whatever weights and states the run has kept
            "trajectories": "none",  # updates: what `replay` takes to make the updates again; all: evaluation as well
            "output": "",  # "" for RUN.zip beside the run
            "seed": 0,
            "run": "",
        }
    )
