"""Containers made by this project's own launcher, as root: namespaces, an overlay, control groups, no privileges."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.computer import inside
from tars_jax.sandbox.computer.container import Container, Isolation, Snapshot
from tars_jax.sandbox.computer.control_groups import ControlGroup
from tars_jax.sandbox.computer.disks import make_disk
from tars_jax.sandbox.computer.launcher.syscalls import is_known_architecture
from tars_jax.sandbox.computer.launching import Events, LauncherProcess, NotStarted
from tars_jax.sandbox.computer.root import make_base, system_folders
from tars_jax.sandbox.computer.runs import RunFolder
from tars_jax.sandbox.computer.snapshots import Snapshots, copy_upper
from tars_jax.sandbox.computer.spec import HOME, USER_ID, ContainerSpec
from tars_jax.sandbox.failures import SandboxFailure

RUN, LOG = "/run/agent", "/run/agent/log"
_START_S = 30.0  # of a container, on a machine with much else to do
_NO_PROGRAM = ("FileNotFoundError", "PermissionError", "NotADirectoryError")


async def open_namespaces(folder: Path) -> Isolation:
    """Raises InputError for other users than root, OSError when the launcher does not start."""
    if os.geteuid() != 0:
        raise InputError("isolation=namespaces must be opened by root")
    if not is_known_architecture():
        raise InputError("isolation=namespaces must run on x86_64 or aarch64")
    isolation = NamespaceIsolation(folder)
    await isolation.start()
    return isolation


class NamespaceIsolation:
    """The launcher's process and its containers. Root only."""

    name = "namespaces"

    def __init__(self, folder: Path) -> None:
        self._run = RunFolder(folder)
        self._numbers = itertools.count(1)
        self._launcher = LauncherProcess()
        self.snapshots = Snapshots(self._run.path / "snapshots")
        self._containers: dict[str, NamespaceContainer] = {}

    async def start(self) -> None:
        """Raises OSError when the launcher does not start."""
        await asyncio.to_thread(make_base, self._run.path / "base")
        await self._launcher.start(self._run.path)

    async def launch(self, spec: ContainerSpec, argv: Sequence[str], snapshot: Snapshot | None = None) -> Container:
        number = next(self._numbers)
        id, folder = f"{self._run.token}-{number}", self._run.path / str(number)
        group: ControlGroup | None = None
        descriptors: list[int] = []
        events = self._launcher.new(id)
        try:
            for name in ("", "disk", "root"):
                (folder / name).mkdir()
            group = ControlGroup(id, spec)
            disk = await asyncio.to_thread(make_disk, folder, spec.disk_mib)
            plan = self._plan(id, folder, spec, argv, group, disk, snapshot)
            await self._launcher.launch(plan)
            async with asyncio.timeout(_START_S):
                pid = await asyncio.shield(events.ready)
                for path in (f"/proc/{pid}/root", f"/proc/{pid}/fd/{events.disk}"):
                    descriptors.append(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
                await self._launcher.let_go(id)
                await asyncio.shield(events.started)
        except BaseException as error:
            for descriptor in descriptors:
                os.close(descriptor)
            await asyncio.shield(self._give_up(id, folder, group))
            if isinstance(error, NotStarted) and str(error).startswith(_NO_PROGRAM):
                raise InputError(f"argv must name a program of the container; got {argv[0]!r}: {error}") from None
            if isinstance(error, OSError | subprocess.CalledProcessError | NotStarted | TimeoutError):
                raise SandboxFailure("container", f"it did not start: {error}") from error
            raise
        container = self._containers[id] = NamespaceContainer(self, id, spec, folder, group, pid, descriptors, plan)
        return container

    def _plan(
        self, id: str, folder: Path, spec: ContainerSpec, argv: Sequence[str], group: ControlGroup,
        disk: dict[str, Any], snapshot: Snapshot | None,
    ) -> dict[str, Any]:  # fmt: skip
        """What the launcher needs to know; launcher/ reads it."""
        limits = {"RLIMIT_CORE": 0, "RLIMIT_NOFILE": 65536, "RLIMIT_MEMLOCK": 1 << 20, "RLIMIT_MSGQUEUE": 1 << 20}
        if "memory" not in group.limited:
            limits["RLIMIT_AS"] = spec.memory_mib << 20
        if "pids" not in group.limited:
            limits["RLIMIT_NPROC"] = spec.processes
        layers = [*(snapshot.layers if snapshot else ()), {"kind": "folder", "folder": str(self._run.path / "base")}]
        return {
            "id": id, "folder": str(folder), "argv": list(argv), "environment": spec.variables(HOME, RUN), "cwd": HOME,
            "hostname": spec.hostname, "user": USER_ID, "run": RUN, "log": LOG, "disk": disk, "layers": layers,
            "system": system_folders()[0], "binds": {path: str(host) for path, host in spec.binds.items()},
            "shared_memory_mib": spec.shared_memory_mib, "cgroups": group.entrances, "rlimits": limits,
        }  # fmt: skip

    async def _give_up(self, id: str, folder: Path, group: ControlGroup | None) -> None:
        await self._launcher.end(id)
        await self._remove(id, folder, group)

    async def close_container(self, container: NamespaceContainer, folder: Path, group: ControlGroup) -> None:
        await self._give_up(container.id, folder, group)

    async def _remove(self, id: str, folder: Path, group: ControlGroup | None) -> None:
        self._containers.pop(id, None)
        await asyncio.to_thread(_remove, folder, group)
        await self._launcher.forget(id)

    def events(self, id: str) -> Events:
        """Raises SandboxFailure for a container that is closed."""
        return self._launcher.events(id)

    async def remove_snapshot(self, snapshot: Snapshot) -> None:
        used = [layer for container in self._containers.values() for layer in container.layers]
        await asyncio.to_thread(self.snapshots.remove, snapshot, used)

    async def close(self) -> None:
        await asyncio.gather(*(container.close() for container in list(self._containers.values())))
        await self._launcher.close()
        await asyncio.to_thread(self._run.close)


def _remove(folder: Path, group: ControlGroup | None) -> None:
    if group is not None:
        group.remove()
    shutil.rmtree(folder, ignore_errors=True)


class NamespaceContainer:
    """A container of this kind."""

    home, run_folder = HOME, RUN

    def __init__(
        self, isolation: NamespaceIsolation, id: str, spec: ContainerSpec, folder: Path, group: ControlGroup, pid: int,
        descriptors: list[int], plan: dict[str, Any],
    ) -> None:  # fmt: skip
        self.id, self.spec, self.pid = id, spec, pid
        self._isolation, self._folder, self._group, self._plan = isolation, folder, group, plan
        self._paused = self._closed = False
        self._root, self._disk = descriptors  # they show the files also when all processes have ended

    def host_path(self, path: str) -> Path:
        return Path(f"/proc/{self.pid}/root{path}")

    def read(self, path: str, limit: int = 1 << 20) -> bytes:
        return inside.read(self._root, path, limit)

    async def connect(self, path: str) -> Any:
        return await inside.connect(self._root, path)

    async def wait(self, timeout_s: float | None = None) -> int | None:
        try:
            return await asyncio.wait_for(asyncio.shield(self._isolation.events(self.id).exited), timeout_s)
        except TimeoutError:
            return None

    async def pause(self) -> None:
        self._isolation.events(self.id)
        if not self._paused:
            await self._freeze(True)

    async def resume(self) -> None:
        self._isolation.events(self.id)
        if self._paused:
            await self._freeze(False)

    async def _freeze(self, frozen: bool) -> None:
        try:
            await asyncio.to_thread(self._group.freeze, frozen)
        except OSError as error:
            raise SandboxFailure("container", str(error)) from error
        self._paused = frozen

    def memory_bytes(self) -> int | None:
        return self._group.memory_bytes()

    async def snapshot(self, name: str) -> Snapshot:
        self._isolation.events(self.id)
        place = self._isolation.snapshots.place(name)
        was_paused = self._paused
        try:
            await self.pause()
            layer = await asyncio.to_thread(copy_upper, self._plan["disk"], self._disk, place)
        except (OSError, subprocess.CalledProcessError) as error:
            shutil.rmtree(place, ignore_errors=True)
            raise SandboxFailure("disk", f"a snapshot could not be taken: {error}") from error
        finally:
            if not was_paused and not self._closed:
                await self.resume()
        return self._isolation.snapshots.keep(name, place, (layer, *self.layers))

    @property
    def layers(self) -> tuple[dict[str, Any], ...]:
        """Of snapshots, the uppermost first, without its own and the base."""
        return tuple(self._plan["layers"][:-1])

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            os.close(self._root)
            os.close(self._disk)
            await self._isolation.close_container(self, self._folder, self._group)
