"""One computer by the APIs of others: /aio (AIO Sandbox), /swe_rex (SWE-ReX), /openenv (a new computer each episode).

Command:  ./launch/local.sh computer_apis

Ready in seconds, when it prints how each client is told the address and the token. Ctrl-C or SIGTERM ends the server
and the computer. `./launch/interop.sh` installs the clients.
"""

import dataclasses

from ml_collections import ConfigDict

from tars_jax.pipelines.command_fields import IsolationFields
from tars_jax.pipelines.schema import RunFields, section
from tars_jax.rules import field_of
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.web.listening import ListenAddress


@dataclasses.dataclass(frozen=True)
class ComputerApis(ListenAddress, IsolationFields, RunFields):
    """The computer that is served, and its limits."""

    memory_mib: int = field_of(
        ContainerSpec, "memory_mib", about="memory limit of the computer, and of each computer of /openenv, in MiB"
    )
    processes: int = field_of(ContainerSpec, "processes", about="most processes of the computer")
    disk_mib: int = field_of(ContainerSpec, "disk_mib", about="size limit of the computer's files, in MiB")


def get_config() -> ConfigDict:
    return section(ComputerApis, port=8730)
