"""A finished run as a small archive: config, lock, code version, seeds, metrics, figures, a README; seconds.

Command:  ./launch/local.sh publish RUN [--config.checkpoint=policy] [--config.trajectories=updates]

Expected result: RUN.zip beside RUN, the same bytes each time, with no absolute path, host or user name in it.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import field, one_of


@dataclasses.dataclass(frozen=True)
class Publish(RunFields):
    source: str = field("", "the run directory")
    checkpoint: str = field(
        "none",
        "policy: the final weights; all: whatever weights and states the run has kept",
        one_of("none", "policy", "all"),
    )
    trajectories: str = field(
        "none",
        "updates: what `replay` takes to make the updates again; all: evaluation as well",
        one_of("none", "updates", "all"),
    )
    output: str = field("", "empty for RUN.zip beside the run")


def get_config() -> ConfigDict:
    return section(Publish)
