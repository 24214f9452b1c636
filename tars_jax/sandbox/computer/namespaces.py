"""Containers made by this project's own launcher, as root: namespaces, an overlay, control groups, no privileges."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import logging
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.computer.checkpoints import Criu, errors_of
from tars_jax.sandbox.computer.container import Checkpoint, Container, Isolation, Snapshot
from tars_jax.sandbox.computer.control_groups import ControlGroup
from tars_jax.sandbox.computer.disks import image_maker, make_disk
from tars_jax.sandbox.computer.launcher.syscalls import is_known_architecture
from tars_jax.sandbox.computer.launching import Events, LauncherProcess, NotStarted
from tars_jax.sandbox.computer.namespace_container import LISTEN, RUN, NamespaceContainer
from tars_jax.sandbox.computer.packages import make_base_of_root
from tars_jax.sandbox.computer.reattachment import Reattachment
from tars_jax.sandbox.computer.root import make_base, system_folders
from tars_jax.sandbox.computer.runs import RunFolder
from tars_jax.sandbox.computer.snapshots import Snapshots
from tars_jax.sandbox.computer.spec import USER_ID, ContainerSpec
from tars_jax.sandbox.computer.users import Users, first_user, take_block
from tars_jax.sandbox.failures import SandboxFailure

log = logging.getLogger(__name__)
LOG = f"{RUN}/log"
USERS = "users"  # of a run's folder
_START_S = 30.0  # of a container, on a machine with much else to do
_MOST_LAYERS = 40  # of files; what an overlay can be told of
_WHY: dict[str, str] = {}  # kinds that were tried, and why their containers share a user; empty where they do not
_NO_PROGRAM = ("FileNotFoundError", "PermissionError", "NotADirectoryError")


async def open_namespaces(folder: Path) -> Isolation:
    """Raises InputError for other users than root, OSError when the launcher does not start."""
    if os.geteuid() != 0:
        raise InputError("isolation=namespaces must be opened by root")
    if not is_known_architecture():
        raise InputError("isolation=namespaces must run on x86_64 or aarch64")
    isolation = NamespaceIsolation(RunFolder(folder))
    await isolation.start()
    return isolation


class NamespaceIsolation:
    """The launcher's process and its containers. Root only."""

    name = "namespaces"
    can_keep = True
    can_have_users = True  # one of this machine's for each container
    guest_socket: tuple[str, ...] = ("fd:3",)
    socket_is_open = True

    def __init__(self, run: RunFolder, launcher: LauncherProcess | None = None) -> None:
        """`launcher`: of an owner that has gone, which has left the folder."""
        self._run = run
        self._numbers = itertools.count(run.next_number())
        self._launcher = launcher or LauncherProcess()
        self.reattachment = Reattachment(self.name, run, self._launcher)
        self.criu = Criu(self._launcher, self._run.token, self._run.path)
        self.snapshots = Snapshots(self._run.path / "snapshots")
        self._containers: dict[str, NamespaceContainer] = {}
        self._users = Users(run.path / USERS) if launcher and (run.path / USERS).exists() else None

    async def start(self) -> None:
        """Raises OSError when the launcher does not start; InputError for a range of users that cannot be."""
        await asyncio.to_thread(make_base, self._run.path / "base")
        await asyncio.to_thread(make_base_of_root, self._run.path / "base-of-root")
        log_file = self._run.path / "launcher.log"
        if not self.can_have_users or not (first := first_user()) or image_maker() is None:
            await self._launcher.start(self._run.path, self._run.lock, log=log_file)
            return
        block, lock = await asyncio.to_thread(take_block, first)
        try:
            await self._launcher.start(self._run.path, self._run.lock, log=log_file, holding=[lock])
        finally:
            os.close(lock)
        self._users = Users(self._run.path / USERS, block)
        if why := await self._why_one_user():
            log.warning("containers share one user of this machine, and what the kernel counts by user: %s", why)
            self._users = None

    async def _why_one_user(self) -> str:
        """The reason why containers cannot have a user each here; empty where they can. Found out once."""
        if (why := _WHY.get(self.name)) is None:
            why = ""
            try:
                await (await self._launch(ContainerSpec(disk_mib=16), ["/bin/true"], (), False)).close()
            except (SandboxFailure, InputError) as error:
                why = str(error)
            _WHY[self.name] = why
        return why

    async def launch(
        self, spec: ContainerSpec, argv: Sequence[str], snapshot: Snapshot | None = None, *, listen: bool = False
    ) -> Container:  # fmt: skip
        return await self._launch(spec, argv, snapshot.layers if snapshot else (), listen)

    async def restore(self, spec: ContainerSpec, checkpoint: Checkpoint) -> Container:
        return await self._launch(spec, [], checkpoint.snapshot.layers, True, checkpoint)

    async def adopt(self, id: str, spec: ContainerSpec) -> Container:
        adopted = self.reattachment.take(id)
        folder, group = self._run.path / id.rpartition("-")[2], ControlGroup.adopted(adopted.plan["cgroups"])
        try:
            if not adopted.pid:
                raise SandboxFailure("container", f"it ended with {adopted.status} while its owner was away")
            root = _folder(f"/proc/{adopted.pid}/root")
        except BaseException as error:
            adopted.close()
            await asyncio.shield(self._give_up(id, folder, group))
            if isinstance(error, OSError):
                raise SandboxFailure("container", f"it has ended: {error}") from error
            raise
        container = self._containers[id] = NamespaceContainer(
            self, id, dataclasses.replace(spec, user=adopted.plan["user"]), folder, group, adopted.pid,
            [adopted.disk, root], adopted.plan,
        )  # fmt: skip
        return container

    async def end_others(self) -> None:
        for adopted in self.reattachment.left():
            id = adopted.plan["id"]
            adopted.close()
            if "layers" in adopted.plan:
                await self._give_up(
                    id, self._run.path / id.rpartition("-")[2], ControlGroup.adopted(adopted.plan["cgroups"])
                )
            else:  # a run of CRIU
                await self._launcher.forget(id)

    async def why_not_live(self) -> str:
        return await self.criu.why_not()

    async def disk(self, folder: Path, spec: ContainerSpec, checkpoint: Checkpoint | None) -> dict[str, Any]:
        """The disk that a container in a folder writes to: that of a checkpoint, which goes with it, or a new one."""
        if checkpoint is not None and checkpoint.disk is not None:
            return {"kind": "image", "file": str(checkpoint.disk.rename(folder / "disk.ext4"))}
        return await asyncio.to_thread(make_disk, folder, spec.disk_mib)

    async def _launch(
        self, spec: ContainerSpec, argv: Sequence[str], layers: Sequence[dict[str, Any]], listen: bool,
        checkpoint: Checkpoint | None = None,
    ) -> Container:  # fmt: skip
        self.check_layers(layers)
        number = next(self._numbers)
        id, folder = f"{self._run.token}-{number}", self._run.path / str(number)
        group: ControlGroup | None = None
        descriptors: list[int] = []
        user = USER_ID
        events = self._launcher.new(id)
        try:
            for name in ("", "disk", "root"):
                (folder / name).mkdir()
            group = ControlGroup(id, spec)
            if checkpoint is not None:
                user = checkpoint.user
                self.hold_user(user, id)
            elif self._users is not None:
                user = self._users.take(id, spec.user)
            disk = await self.disk(folder, spec, checkpoint)
            plan = self._plan(id, folder, spec, argv, group, disk, layers, user)
            plan["listen"] = LISTEN if listen else ""
            if checkpoint is not None:
                plan |= self.criu.restore_plan(checkpoint, folder)
            await self._launcher.launch(plan)
            async with asyncio.timeout(_START_S):
                pid = await asyncio.shield(events.ready)
                descriptors.append(_folder(f"/proc/{pid}/fd/{events.disk}"))
                if checkpoint is None:
                    descriptors.append(_folder(f"/proc/{pid}/root"))
                await self._launcher.proceed(id)
                restored = await asyncio.shield(events.started)
                if checkpoint is not None:
                    pid = restored
                    descriptors.append(_folder(f"/proc/{pid}/root"))
        except BaseException as error:
            for descriptor in descriptors:
                os.close(descriptor)
            said = errors_of(folder / "criu.log") if checkpoint is not None else ""
            await asyncio.shield(self._give_up(id, folder, group, checkpoint))
            if isinstance(error, NotStarted) and checkpoint is None and str(error).startswith(_NO_PROGRAM):
                raise InputError(f"argv must name a program of the container; got {argv[0]!r}: {error}") from None
            if isinstance(error, OSError | subprocess.CalledProcessError | NotStarted | TimeoutError):
                raise SandboxFailure(
                    "container", f"it did not start: {error or said}{said and f'; CRIU: {said}'}"
                ) from error
            raise
        spec = dataclasses.replace(spec, user=user)
        container = self._containers[id] = NamespaceContainer(self, id, spec, folder, group, pid, descriptors, plan)
        return container

    @staticmethod
    def check_layers(layers: Sequence[dict[str, Any]]) -> None:
        """Raises SandboxFailure for more than an overlay can be told of."""
        if len(layers) > _MOST_LAYERS:
            raise SandboxFailure("container", f"forks of forks must be {_MOST_LAYERS} at most; got one more")

    def _plan(
        self, id: str, folder: Path, spec: ContainerSpec, argv: Sequence[str], group: ControlGroup,
        disk: dict[str, Any], layers: Sequence[dict[str, Any]], user: int = USER_ID,
    ) -> dict[str, Any]:  # fmt: skip
        """The plan of a container, which launcher/ reads."""
        limits = {
            "RLIMIT_CORE": 0,
            "RLIMIT_NOFILE": spec.open_files,
            "RLIMIT_MEMLOCK": 1 << 20,
            "RLIMIT_MSGQUEUE": 1 << 20,
        }
        if "memory" not in group.limited:
            limits["RLIMIT_AS"] = spec.memory_mib << 20
        if "pids" not in group.limited:
            limits["RLIMIT_NPROC"] = spec.processes
        below = [self._run.path / "base"]
        if self._users is not None and user != USER_ID and not spec.root:
            below.insert(0, self._users.layer(user))
        if spec.root:
            below.insert(0, self._run.path / "base-of-root")
        layers = [*layers, *({"kind": "folder", "folder": str(each), "base": True} for each in below)]
        return {
            "id": id, "folder": str(folder), "argv": list(argv), "cwd": spec.home, "root": spec.root,
            "system_restored": spec.system_restored and len(layers) > len(below),
            "environment": spec.variables(spec.home, RUN),
            "hostname": spec.hostname, "user": user, "disk_user": USER_ID, "run": RUN, "log": LOG, "disk": disk,
            "layers": layers,
            "system": system_folders()[0], "binds": {path: str(host) for path, host in spec.binds.items()},
            "shared_memory_mib": spec.shared_memory_mib, "one_device": spec.one_device,
            "cgroups": group.entrances, "rlimits": limits,
        }  # fmt: skip

    async def _give_up(
        self, id: str, folder: Path, group: ControlGroup | None, checkpoint: Checkpoint | None = None
    ) -> None:  # fmt: skip
        """Ends a container. `checkpoint`: that which it was to go on from, and could not: it has its disk again."""
        await self._launcher.end(id)
        if checkpoint is not None and checkpoint.disk is not None:
            with contextlib.suppress(FileNotFoundError):
                (folder / "disk.ext4").rename(checkpoint.disk)
        await self._remove(id, folder, group)

    async def close_container(self, container: NamespaceContainer, folder: Path, group: ControlGroup) -> None:
        await self._give_up(container.id, folder, group)

    async def _remove(self, id: str, folder: Path, group: ControlGroup | None) -> None:
        self._containers.pop(id, None)
        await asyncio.to_thread(_remove, folder, group)
        self._give_back(id)
        await self._launcher.forget(id)

    def events(self, id: str) -> Events:
        """Raises SandboxFailure for a container that is closed."""
        return self._launcher.events(id)

    async def remove_snapshot(self, snapshot: Snapshot) -> None:
        used = [layer for container in self._containers.values() for layer in container.layers]
        await asyncio.to_thread(self.snapshots.remove, snapshot, used)

    async def remove_checkpoint(self, checkpoint: Checkpoint) -> None:
        await asyncio.to_thread(shutil.rmtree, checkpoint.images, True)
        self._give_back(checkpoint.images.name)
        await self.remove_snapshot(checkpoint.snapshot)

    def hold_user(self, user: int, holder: str) -> None:
        """A user that somebody holds is this one's, too."""
        if self._users is not None and user != USER_ID:
            self._users.hold(user, holder)

    def _give_back(self, holder: str) -> None:
        if self._users is not None:
            self._users.give_back(holder)

    def images(self) -> Path:
        """A new folder for what CRIU writes."""
        folder = self._run.path / "images"
        folder.mkdir(exist_ok=True)
        place = folder / str(next(self._numbers))
        place.mkdir()
        return place

    async def close(self) -> None:
        await asyncio.gather(*(container.close() for container in list(self._containers.values())))
        await self._launcher.close()
        await asyncio.to_thread(self._run.close)


def _folder(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _remove(folder: Path, group: ControlGroup | None) -> None:
    if group is not None:
        group.remove()
    shutil.rmtree(folder, ignore_errors=True)
