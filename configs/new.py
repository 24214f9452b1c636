"""A file to go on from: an environment, a judge or a player of your own, with comments, which runs as it is.

Command:  ./launch/local.sh new KIND [NAME]

KIND is environment, judge or player. At once.
Expected result: NAME.py where you stand (mine.py, my_judge.py or my_player.py without a NAME); its first lines say what
to do with it. A file that is there is never replaced.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.pipelines.schema import section
from tars_jax.pipelines.templates import NAMES
from tars_jax.rules import field, one_of


@dataclasses.dataclass(frozen=True)
class New:
    """The kind of the new module, and its name."""

    kind: str = field("", "kind of module to write", one_of(*NAMES))
    name: str = field("", "name of the module; empty: named after its kind")


def get_config() -> ConfigDict:
    return section(New)
