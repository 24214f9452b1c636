"""Spec of a container: what it shows, and how much of the machine it may take."""

from __future__ import annotations

import dataclasses
import posixpath
from collections.abc import Mapping
from pathlib import Path

from tars_jax import InputError
from tars_jax.rules import Rule, check_fields, field

HOME = "/home/agent"
ROOT_HOME = "/root"
OTHER_HOME = "/home/user"  # a link to it: what the tasks of OSWorld call a home
USER, USER_ID = "agent", 1000
ISOLATIONS = ("namespaces", "bubblewrap", "gvisor", "none")  # which isolation.py opens
PROGRAMS = "/opt/bin"  # `python`, which Debian has by no name but python3; what the system has comes first


# The least and the most of a container; of shared memory, the least alone is another.
MIB, SHARED_MIB, PROCESSES = (16, 1 << 20), (1, 1 << 20), (4, 1 << 16)


def whole(low: int, high: int) -> Rule:
    return Rule(lambda value: type(value) is int and low <= value <= high, f"a whole number from {low} to {high}")


@dataclasses.dataclass(frozen=True)
class ContainerSpec:
    """Raises InputError for values that no container can have."""

    memory_mib: int = field(1024, "memory limit of all processes together, in MiB", whole(*MIB))
    processes: int = field(256, "most processes and threads at one time", whole(*PROCESSES))
    # The log of its first process counts, too.
    disk_mib: int = field(1024, "size limit of the files that it writes, in MiB", whole(*MIB))
    shared_memory_mib: int = field(128, "size of /dev/shm, which counts as memory, in MiB", whole(*SHARED_MIB))
    cpus: float | None = None  # of the machine's; None: all that others leave
    binds: Mapping[str, Path] = dataclasses.field(default_factory=dict)  # paths inside: files or folders to read
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    hostname: str = "computer"
    user: int | None = None  # of this machine's, as users.py counts; None: one that no other container has
    root: bool = False  # its programs are root of a user namespace of their own: `/` and /usr are theirs to change
    # Of root: programs of the system are as the snapshot that it begins with found them; what that one adds is there.
    system_restored: bool = False
    one_device: bool = False  # files are of their folders' device, else file managers copy what is dragged among them

    def __post_init__(self) -> None:
        check_fields(self, "container")
        if self.cpus is not None and not 0.01 <= self.cpus <= 1024:
            raise InputError(f"cpus of a container must be .01 to 1024, or None; got {self.cpus!r}")
        if not self.hostname.replace("-", "").isalnum() or not self.hostname.isascii() or len(self.hostname) > 63:
            raise InputError(f"hostname of a container must be letters, digits and hyphens; got {self.hostname!r}")
        for inside, host in self.binds.items():
            if posixpath.normpath(inside) != inside or not inside.startswith("/") or inside in ("/", "//"):
                raise InputError(f"binds of a container must name absolute paths without dots; got {inside!r}")
            if not Path(host).exists():
                raise InputError(f"binds of a container must show what is there; got {str(host)!r} for {inside!r}")
        for name, value in self.environment.items():
            if not name or "=" in name or "\0" in name + value:
                raise InputError(f"environment of a container must be names and texts; got {name!r}")

    @property
    def open_files(self) -> int:
        """Files that one process may have open; all of them together a million at most, or a thousand each."""
        return max(1024, (1 << 20) // self.processes)

    @property
    def home(self) -> str:
        return ROOT_HOME if self.root else HOME

    def variables(self, home: str, run: str) -> dict[str, str]:
        """The environment of the first process."""
        user = "root" if self.root else USER
        path = f"/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games:{PROGRAMS}"
        if self.root:
            path = f"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:{PROGRAMS}"
        standard = {
            "HOME": home, "USER": user, "LOGNAME": user, "SHELL": "/bin/bash", "LANG": "C.UTF-8", "TERM": "dumb",
            "PATH": path, "TARS_JAX_RUN": run,
        }  # fmt: skip
        return {**standard, **self.environment}
