"""Any environment that `train` takes, over OpenEnv's protocol (HTTP and WebSocket).

Command:  ./launch/local.sh openenv --config.environment=maze_path_of_light

Ready in seconds, when it prints the address and the token. Ctrl-C or SIGTERM ends it.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.pipelines.run_sections import SandboxSection
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import at_least, field
from tars_jax.web.listening import ListenAddress


@dataclasses.dataclass(frozen=True)
class Openenv(ListenAddress, RunFields):
    """The environment that is served."""

    environment: str = field(
        "computer", "environment to serve: a game, a benchmark's task, gymnasium:ID, package.module:attribute"
    )
    options: str = field("", "options of the environment's tasks, as JSON; `reset` may set others")
    episodes: int = field(16, "most episodes at the same time", at_least(1))


def get_config() -> ConfigDict:
    return section(Openenv, port=8720, sandbox=section(SandboxSection))
