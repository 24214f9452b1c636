"""A finished run as a small archive: config, lock, code version, seeds, metrics, figures, a README; seconds.

Command:  ./launch/local.sh publish RUN [--config.checkpoint=policy] [--config.trajectories=updates]

Expected result: RUN.zip beside RUN, the same bytes each time, with no absolute path, host or user name in it.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import Rule, field, one_of


@dataclasses.dataclass(frozen=True)
class Publish(RunFields):
    """The run to publish, and what the archive holds."""

    source: str = field("", "run directory to publish", Rule(bool, "the directory of a finished run"))
    checkpoint: str = field(
        "none",
        "weights in the archive: none; policy, the final weights; all, every weight and state that the run kept",
        one_of("none", "policy", "all"),
    )
    trajectories: str = field(
        "none",
        "trajectories in the archive: none; updates, those that `replay` needs; all, with evaluation",
        one_of("none", "updates", "all"),
    )
    output: str = field("", "file of the archive; empty: RUN.zip beside the run")


def get_config() -> ConfigDict:
    return section(Publish)
