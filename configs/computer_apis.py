"""One computer by the APIs of others: /aio (AIO Sandbox), /swe_rex (SWE-ReX), /openenv (a new computer each episode).

Command:  ./launch/local.sh computer_apis

Ready in seconds, when it prints how each client is told the address and the token. Ctrl-C or SIGTERM ends the server
and the computer. `./launch/interop.sh` installs the clients.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.pipelines.command_fields import ISOLATION, ListenerFields
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import at_least, field


@dataclasses.dataclass(frozen=True)
class ComputerApis(ListenerFields, RunFields):
    isolation: str = field("auto", "auto, or what isolates it by name: sandbox/computer/isolation.py", ISOLATION)
    memory_mib: int = field(1024, "of the computer, and of each of /openenv", at_least(16))
    processes: int = field(256, "of the computer, at most", at_least(4))
    disk_mib: int = field(1024, "of the computer's files, at most", at_least(16))


def get_config() -> ConfigDict:
    return section(ComputerApis, port=8730)
