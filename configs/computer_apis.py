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
    """The computer that is served, and its limits."""

    isolation: str = field(
        "auto",
        "isolation of the computer: auto, or the name of a mechanism in sandbox/computer/isolation.py",
        ISOLATION,
    )
    memory_mib: int = field(
        1024, "memory limit of the computer, and of each computer of /openenv, in MiB", at_least(16)
    )
    processes: int = field(256, "most processes of the computer", at_least(4))
    disk_mib: int = field(1024, "size limit of the computer's files, in MiB", at_least(16))


def get_config() -> ConfigDict:
    return section(ComputerApis, port=8730)
