"""Containers for untrusted code: its programs speak to gVisor's kernel, which is a program, and not to this machine's.

As root alone, and by name alone. The launcher mounts the same root as for `namespaces` and becomes runsc there, so
disks, snapshots, limits and ends are the same. The guest is the sandbox's first process; it is root inside, where that
means little, and its programs are the agent. It comes to the host through a socket in a folder that is root's
(reverse_listener.py), as sockets that programs inside bind would not survive a checkpoint were they this machine's.
"""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import functools
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.computer.container import Checkpoint, Container, Isolation
from tars_jax.sandbox.computer.control_groups import ControlGroup
from tars_jax.sandbox.computer.gvisor_container import GvisorContainer, Runsc
from tars_jax.sandbox.computer.launcher.syscalls import is_known_architecture
from tars_jax.sandbox.computer.launching import Events, NotStarted
from tars_jax.sandbox.computer.namespace_container import RUN
from tars_jax.sandbox.computer.namespaces import NamespaceIsolation
from tars_jax.sandbox.computer.reverse_listener import FOLDER, NAME, ReverseListener
from tars_jax.sandbox.computer.runs import RunFolder
from tars_jax.sandbox.computer.spec import HOME, MIB, PROCESSES, USER_ID, ContainerSpec
from tars_jax.sandbox.failures import SandboxFailure

FETCHED = Path(__file__).parents[3] / ".cache" / "gvisor" / "runsc"
OWN_MIB, OWN_THREADS = 128, 512  # of gVisor itself, beside what a spec allows the programs
THREADS_EACH = 8  # that a process inside takes of this machine at most
_CAPABILITIES = ["CAP_CHOWN", "CAP_FOWNER", "CAP_KILL", "CAP_SETGID", "CAP_SETUID"]  # of the guest, inside
_START_S = 60.0


def runsc_program() -> str | None:
    """The one that TARS_JAX_RUNSC names, the one that launch/gvisor.sh has fetched, or that of the PATH, where it is no
    older than the platform systrap: Debian 12's is.
    """
    if named := os.environ.get("TARS_JAX_RUNSC"):
        return named
    if FETCHED.exists():
        return str(FETCHED)
    found = shutil.which("runsc")
    return found if found is not None and _has_systrap(found) else None


@functools.cache
def _has_systrap(program: str) -> bool:
    told = subprocess.run([program, "flags"], stdin=subprocess.DEVNULL, capture_output=True)
    return b"systrap" in told.stdout + told.stderr


async def open_gvisor(folder: Path) -> Isolation:
    """Raises InputError for other users than root, and where there is no runsc; OSError when nothing starts."""
    if os.geteuid() != 0:
        raise InputError("isolation=gvisor must be opened by root")
    if not is_known_architecture():
        raise InputError("isolation=gvisor must run on x86_64 or aarch64")
    if (program := runsc_program()) is None:
        raise InputError("isolation=gvisor must find the program runsc (sudo ./launch/gvisor.sh fetches one)")
    isolation = GvisorIsolation(RunFolder(folder), program)
    await isolation.start()
    return isolation


class GvisorIsolation(NamespaceIsolation):
    """The launcher's process and its sandboxes. Root only."""

    name = "gvisor"
    guest_socket: tuple[str, ...] = (f"dial:{FOLDER}/{NAME}", f"user={USER_ID}:{USER_ID}")
    socket_is_open = False  # and gVisor shows the variables of every process to all

    can_have_users = False  # what is counted by user is counted by gVisor's kernel, of which each container has its own
    can_keep = False  # its guests meet the host at a socket of the owner's, which ends with it

    def __init__(self, run: RunFolder, program: str) -> None:
        super().__init__(run)
        self.runsc = Runsc(program, self._run.path / "runsc")

    async def why_not_live(self) -> str:
        return ""

    async def _launch(
        self, spec: ContainerSpec, argv: Sequence[str], layers: Sequence[dict[str, Any]], listen: bool,
        checkpoint: Checkpoint | None = None,
    ) -> Container:  # fmt: skip
        self.check_layers(layers)
        number = next(self._numbers)
        id, folder = f"{self._run.token}-{number}", self._run.path / str(number)
        group: ControlGroup | None = None
        descriptors: list[int] = []
        listener: ReverseListener | None = None
        events = self._launcher.new(id)
        try:
            for name in ("", "disk", "root"):
                (folder / name).mkdir()
            group = ControlGroup(id, _with_gvisor(spec))
            disk = await self.disk(folder, spec, checkpoint)
            plan = self._plan(id, folder, spec, argv, group, disk, layers)
            bundle = _bundle(spec, argv, f"{folder}/root", plan, listen=listen)
            (folder / "config.json").write_text(json.dumps(bundle))
            begin = ["run"] if checkpoint is None else ["restore", "--image-path", str(checkpoint.images)]
            plan |= {
                "gvisor": True, "restores": checkpoint is not None,
                "command": self.runsc.command(*begin, "--bundle", str(folder), id, log=folder / "runsc.log"),
            }  # fmt: skip
            await self._launcher.launch(plan)
            async with asyncio.timeout(_START_S):
                pid = await asyncio.shield(events.ready)
                for path in (f"/proc/{pid}/fd/{events.disk}", f"/proc/{pid}/root{folder}/root"):
                    descriptors.append(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
                if listen:
                    listener = ReverseListener(descriptors[1])
                    listener.open()
                await self._launcher.proceed(id)
                await asyncio.shield(events.started)
                await self._begun(id, folder, events, listener)
        except BaseException as error:
            if listener is not None:
                await listener.close()
            for descriptor in descriptors:
                os.close(descriptor)
            said = self.runsc.errors(folder / "runsc.log")
            await asyncio.shield(self._give_up(id, folder, group, checkpoint))
            if isinstance(error, NotStarted) and checkpoint is None and _is_missing_program(str(error)):
                raise InputError(f"argv must name a program of the container; got {argv[0]!r}: {error}") from None
            if isinstance(error, OSError | subprocess.CalledProcessError | NotStarted | TimeoutError):
                raise SandboxFailure("container", f"it did not start: {error or said}") from error
            raise
        container = self._containers[id] = GvisorContainer(
            self, id, spec, folder, group, pid, descriptors, plan, listener, self.runsc
        )
        return container

    async def _begun(self, id: str, folder: Path, events: Events, listener: ReverseListener | None) -> None:
        """Waits until the sandbox runs. Raises NotStarted for one that ended before."""
        while not (listener.met.is_set() if listener is not None else self.runsc.is_running(id)):
            if events.exited.done():
                if why := self.runsc.errors(folder / "runsc.log"):
                    raise NotStarted(why)
                return  # a short program
            await asyncio.sleep(0.005)

    def _plan(
        self, id: str, folder: Path, spec: ContainerSpec, argv: Sequence[str], group: ControlGroup,
        disk: dict[str, Any], layers: Sequence[dict[str, Any]], user: int = USER_ID,
    ) -> dict[str, Any]:  # fmt: skip
        plan = super()._plan(id, folder, spec, argv, group, disk, layers, user)
        system = {path: path for path in plan["system"]}
        # What lies in a folder of the system is shown by gVisor, too, over that folder.
        over = {
            path: host for path, host in plan["binds"].items() if path.startswith(tuple(f"{top}/" for top in system))
        }
        for path in over:  # runsc would make it on this machine
            if not os.path.lexists(path):
                raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        plan["binds"] = {path: host for path, host in plan["binds"].items() if path not in over}
        return {**plan, "system": {**system, **over}}

    async def _give_up(
        self, id: str, folder: Path, group: ControlGroup | None, checkpoint: Checkpoint | None = None
    ) -> None:  # fmt: skip
        await super()._give_up(id, folder, group, checkpoint)
        self.runsc.forget(id)


def _with_gvisor(spec: ContainerSpec) -> ContainerSpec:
    """The spec of a container with gVisor, which counts processes inside by itself."""
    return dataclasses.replace(
        spec, memory_mib=min(MIB[1], spec.memory_mib + OWN_MIB),
        processes=min(PROCESSES[1], spec.processes * THREADS_EACH + OWN_THREADS),
    )  # fmt: skip


def _is_missing_program(message: str) -> bool:
    return "no such file or directory" in message and "starting container" in message


def _bundle(
    spec: ContainerSpec, argv: Sequence[str], root: str, plan: dict[str, Any], *, listen: bool
) -> dict[str, Any]:
    """The container's config.json, as the Open Container Initiative has it."""
    user, capabilities = (0, _CAPABILITIES) if listen else (USER_ID, [])
    kinds = ("bounding", "effective", "permitted")
    limits = {"RLIMIT_NPROC": spec.processes, "RLIMIT_NOFILE": spec.open_files, "RLIMIT_CORE": 0}
    shared = ["nosuid", "nodev", "mode=1777", f"size={spec.shared_memory_mib}m"]
    mounts = [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/dev/shm", "type": "tmpfs", "source": "tmpfs", "options": shared},
        *(
            {"destination": path, "type": "bind", "source": host, "options": ["rbind", "ro", "nosuid", "nodev"]}
            for path, host in plan["system"].items()
        ),
    ]
    return {
        "ociVersion": "1.0.2", "root": {"path": root}, "hostname": spec.hostname, "mounts": mounts,
        "process": {
            "args": list(argv) or ["restored"], "cwd": HOME, "user": {"uid": user, "gid": user},
            "noNewPrivileges": True,
            "env": [f"{name}={value}" for name, value in spec.variables(HOME, RUN).items()],
            "capabilities": {kind: capabilities for kind in kinds},
            "rlimits": [{"type": name, "hard": value, "soft": value} for name, value in limits.items()],
        },
        "linux": {"namespaces": [{"type": kind} for kind in ("pid", "network", "ipc", "uts", "mount")]},
    }  # fmt: skip
