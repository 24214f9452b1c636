"""Containers made by bubblewrap, for users who are not root.

Against `namespaces`: files are written to memory (tmpfs; /home, /tmp, /var and /run have `disk_mib` each), a snapshot
copies /home/agent and /tmp and a fork copies them once more, and `memory_mib` bounds each process where this user may
make no control groups.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import json
import os
import shutil
import signal
import time
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.computer import inside
from tars_jax.sandbox.computer.container import Checkpoint, Container, Isolation, Snapshot
from tars_jax.sandbox.computer.control_groups import ControlGroup
from tars_jax.sandbox.computer.inside import connect_to
from tars_jax.sandbox.computer.launcher.removing import remove_tree
from tars_jax.sandbox.computer.launcher.seccomp import seccomp_filter
from tars_jax.sandbox.computer.launching import LauncherProcess, NotStarted
from tars_jax.sandbox.computer.processes import RUNNING, Process, listening_ports, processes_below, state_of
from tars_jax.sandbox.computer.reattachment import Reattachment
from tars_jax.sandbox.computer.root import find_inside, make_base, system_folders
from tars_jax.sandbox.computer.runs import RunFolder
from tars_jax.sandbox.computer.snapshots import Snapshots, copy_folder
from tars_jax.sandbox.computer.spec import HOME, OTHER_HOME, USER_ID, ContainerSpec
from tars_jax.sandbox.computer.walking import Sought
from tars_jax.sandbox.failures import SandboxFailure

RUN = "/run/agent"
SAVED = (HOME, "/tmp")
_START_S = 30.0
_STILL_S = 5.0  # for all programs to stand still
_LOG_MIB = 16  # of one file that is written, beyond the disk: the log of the first process lies on the host's
_LIMITED = 'ulimit -u "$0" 2> /dev/null || ulimit -p "$0"; exec "$@"'  # bash and dash have other letters for it


async def open_bubblewrap(folder: Path) -> Isolation:
    """Raises InputError for root and where bubblewrap is not installed, OSError when the launcher does not start."""
    if os.geteuid() == 0:
        raise InputError("isolation=bubblewrap must be opened by an ordinary user; root has isolation=namespaces")
    isolation = BubblewrapIsolation(RunFolder(folder), bubblewrap_program())
    await isolation.start()
    return isolation


def bubblewrap_program() -> str:
    """Raises InputError where it is not installed."""
    if (program := shutil.which("bwrap")) is None:
        raise InputError("isolation=bubblewrap must find the program bwrap (apt-get install bubblewrap)")
    return program


class BubblewrapIsolation:
    """The launcher's process and its containers."""

    name = "bubblewrap"
    can_keep = True
    guest_socket: tuple[str, ...] = ("fd:6",)
    socket_is_open = True

    def __init__(self, run: RunFolder, program: str, launcher: LauncherProcess | None = None) -> None:
        """`launcher`: of an owner that has gone, which has left the folder."""
        self._program = program
        self._run = run
        self._numbers = itertools.count(run.next_number())
        self.launcher = launcher or LauncherProcess()
        self.reattachment = Reattachment(self.name, run, self.launcher)
        self.snapshots = Snapshots(self._run.path / "snapshots")
        self._containers: dict[str, BubblewrapContainer] = {}

    async def start(self) -> None:
        await asyncio.to_thread(make_base, self._run.path / "base")
        (self._run.path / "filter").write_bytes(seccomp_filter())
        await self.launcher.start(self._run.path, self._run.lock, log=self._run.path / "launcher.log")

    async def launch(
        self, spec: ContainerSpec, argv: Sequence[str], snapshot: Snapshot | None = None, *, listen: bool = False
    ) -> Container:  # fmt: skip
        number = next(self._numbers)
        id, folder = f"{self._run.token}-{number}", self._run.path / str(number)
        folder.mkdir()
        group: ControlGroup | None = None
        events = self.launcher.new(id)
        pid, root = 0, -1
        try:
            group = ControlGroup(id, spec)
            plan = self._plan(id, folder, spec, argv, group)
            await self.launcher.launch({**plan, "listen": str(folder / "guest" / "socket") if listen else ""})
            async with asyncio.timeout(_START_S):
                await asyncio.shield(events.started)
                while not (pid := _first_process(folder)):
                    if events.exited.done():
                        raise NotStarted((folder / "log").read_text(errors="replace").strip()[-2000:])
                    await asyncio.sleep(0.002)
            if snapshot is not None:
                for path in SAVED:  # nothing runs inside yet
                    source = os.open(f"{snapshot.layers[0]['folder']}{path}", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
                    await copy_folder(source, Path(f"/proc/{pid}/root{path}"), spec.disk_mib << 20)
            root = os.open(f"/proc/{pid}/root", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            _check_program(root, argv[0], spec)
            await self.launcher.proceed(id, bound=pid)
        except BaseException as error:
            if root >= 0:
                os.close(root)
            await asyncio.shield(self.remove(id, pid, folder, group))
            if isinstance(error, OSError | NotStarted | TimeoutError):
                raise SandboxFailure("container", f"it did not start: {error}") from error
            raise
        container = self._containers[id] = BubblewrapContainer(self, id, spec, folder, group, pid, root)
        return container

    def _plan(
        self, id: str, folder: Path, spec: ContainerSpec, argv: Sequence[str], group: ControlGroup
    ) -> dict[str, Any]:
        limits = {"RLIMIT_CORE": 0, "RLIMIT_NOFILE": spec.open_files, "RLIMIT_FSIZE": spec.disk_mib + _LOG_MIB << 20}
        if "memory" not in group.limited:
            limits["RLIMIT_AS"] = spec.memory_mib << 20
        command = [self._program, *self._arguments(spec), "--", *argv]
        if "pids" not in group.limited:  # counted in the container's own user namespace, so set inside of it
            command[-len(argv) :] = ["/bin/sh", "-c", _LIMITED, str(spec.processes), *argv]
        return {
            "id": id, "command": command, "cgroups": group.entrances, "rlimits": limits,
            "log": str(folder / "log"), "status": str(folder / "status"), "filter": str(self._run.path / "filter"),
        }  # fmt: skip

    def _arguments(self, spec: ContainerSpec) -> list[str]:
        """bubblewrap's arguments; it carries them out in this order."""
        size, user = str(spec.disk_mib << 20), str(USER_ID)
        parts = [["--unshare-all", "--die-with-parent", "--as-pid-1", "--uid", user, "--gid", user, "--clearenv"]]
        parts += [["--hostname", spec.hostname], ["--ro-bind", str(self._run.path / "base/etc"), "/etc"]]
        parts += [["--dir", "/home"]]  # what is mounted nobody inside can move away
        for path in (HOME, "/tmp", "/run", "/var"):
            parts.append(["--size", size, "--tmpfs", path])
        parts += [["--dir", path] for path in (RUN, "/var/tmp", "/root", "/mnt", "/opt", "/srv", "/sys")]
        folders, links = system_folders()
        parts += [["--ro-bind", path, path] for path in folders]
        parts += [["--symlink", target, path] for path, target in links.items()]
        parts += [["--symlink", HOME, OTHER_HOME], ["--symlink", RUN, "/run/user/1000"]]
        parts += [["--proc", "/proc"], ["--dev", "/dev"]]
        parts += [["--size", str(spec.shared_memory_mib << 20), "--tmpfs", "/dev/shm"]]
        parts += [["--ro-bind", str(host), path] for path, host in spec.binds.items()]
        parts += [["--setenv", name, value] for name, value in spec.variables(HOME, RUN).items()]
        parts += [
            ["--remount-ro", "/dev"],
            ["--remount-ro", "/"],
            ["--chdir", HOME],
            ["--json-status-fd", "3", "--block-fd", "5"],
        ]
        if seccomp_filter():
            parts += [["--seccomp", "4"]]
        return list(itertools.chain.from_iterable(parts))

    async def adopt(self, id: str, spec: ContainerSpec) -> Container:
        adopted = self.reattachment.take(id)
        folder, group = self._run.path / id.rpartition("-")[2], ControlGroup.adopted(adopted.plan["cgroups"])
        pid = _first_process(folder) if adopted.pid else 0
        try:
            if not pid:
                raise SandboxFailure("container", f"it ended with {adopted.status} while its owner was away")
            root = os.open(f"/proc/{pid}/root", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except BaseException as error:
            await asyncio.shield(self.remove(id, pid, folder, group))
            if isinstance(error, OSError):
                raise SandboxFailure("container", f"it has ended: {error}") from error
            raise
        container = self._containers[id] = BubblewrapContainer(self, id, spec, folder, group, pid, root)
        container._paused = True  # it may stand still; to let it go on twice is once
        return container

    async def end_others(self) -> None:
        for adopted in self.reattachment.left():
            id = adopted.plan["id"]
            folder = self._run.path / id.rpartition("-")[2]
            await self.remove(id, _first_process(folder), folder, ControlGroup.adopted(adopted.plan["cgroups"]))

    async def remove(self, id: str, pid: int, folder: Path, group: ControlGroup | None) -> None:
        """Ends a container and removes what it had."""
        await self.launcher.end(id)  # bubblewrap's own process; the kernel then ends the first one
        until = time.monotonic() + _START_S
        while pid and Path(f"/proc/{pid}").exists() and time.monotonic() < until:
            await asyncio.sleep(0.002)
        self._containers.pop(id, None)
        if group is not None:
            await asyncio.to_thread(group.remove)
        await asyncio.to_thread(shutil.rmtree, folder, True)
        await self.launcher.forget(id)

    async def why_not_live(self) -> str:
        return "live processes are copied by root alone"

    async def restore(self, spec: ContainerSpec, checkpoint: Checkpoint) -> Container:
        raise SandboxFailure("container", await self.why_not_live())

    async def remove_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Does nothing: there are no checkpoints."""

    async def remove_snapshot(self, snapshot: Snapshot) -> None:
        await asyncio.to_thread(self.snapshots.remove, snapshot, [])

    async def close(self) -> None:
        await asyncio.gather(*(container.close() for container in list(self._containers.values())))
        await self.launcher.close()
        await asyncio.to_thread(self._run.close)


def _first_process(folder: Path) -> int:
    """The first process, once its root is the container's; 0 before."""
    with contextlib.suppress(OSError, ValueError, KeyError, IndexError):
        pid = int(json.loads((folder / "status").read_text().splitlines()[0])["child-pid"])
        root = f"/proc/{pid}/root"
        if not os.path.samefile(root, "/") and os.path.isdir(f"{root}{RUN}") and os.path.isdir(f"{root}{HOME}"):
            return pid
    return 0


def _check_program(root: int, name: str, spec: ContainerSpec) -> None:
    """Raises InputError for a program that the container does not have."""
    folders = [""] if "/" in name else [f"{part}/" for part in spec.variables(HOME, RUN)["PATH"].split(":")]
    if not any(inside.has_file(root, f"{folder}{name}") for folder in folders):
        raise InputError(f"argv must name a program of the container; got {name!r}")


@dataclasses.dataclass(eq=False)
class BubblewrapContainer:
    """A container of this kind."""

    _isolation: BubblewrapIsolation
    id: str
    spec: ContainerSpec
    _folder: Path
    _group: ControlGroup
    pid: int
    _root: int
    _paused: bool = False
    _closed: bool = False

    home = HOME
    run_folder = RUN

    def host_path(self, path: str) -> Path:
        return Path(f"/proc/{self.pid}/root{path}")

    def open_folder(self, path: str) -> int:
        return inside.open_folder(self._root, path)

    def read(self, path: str, limit: int = 1 << 20) -> bytes:
        if path == f"{RUN}/log":  # bubblewrap began before there was an inside
            with open(self._folder / "log", "rb") as file:
                return file.read(limit)
        return inside.read(self._root, path, limit)

    readable_when_paused = True

    def find(self, seeking: Collection[Sought]) -> list[str]:
        return find_inside(self._root, self.spec, seeking)

    async def connect(self, path: str) -> Any:
        return await inside.connect(self._root, path)

    async def dial(self) -> Any:
        return await connect_to(self._folder / "guest" / "socket")

    async def wait(self, timeout_s: float | None = None) -> int | None:
        try:
            exited = self._isolation.launcher.events(self.id).exited
            status = await asyncio.wait_for(asyncio.shield(exited), timeout_s)
        except TimeoutError:
            return None
        return 128 - status if 128 < status <= 128 + signal.NSIG else status  # as bubblewrap says that of a signal

    async def pause(self) -> None:
        self._isolation.launcher.events(self.id)
        if not self._paused:
            self._paused = True
            await asyncio.to_thread(self._stop_all)

    async def resume(self) -> None:
        self._isolation.launcher.events(self.id)
        if self._paused:
            await asyncio.to_thread(_signal, _same_namespace(self.pid), signal.SIGCONT)
            self._paused = False

    def _stop_all(self) -> None:
        """Stops processes until each in the container's pid namespace is seen to stand still: one that runs could let
        others go on, or have a number that was told before. Raises SandboxFailure."""
        until = time.monotonic() + _STILL_S
        while running := [pid for pid in _same_namespace(self.pid) if state_of(pid) in RUNNING]:
            if time.monotonic() > until:
                raise SandboxFailure("container", f"its programs did not stand still within {_STILL_S:g} s")
            _signal(running, signal.SIGSTOP)
            time.sleep(0.001)

    def processes(self) -> list[Process]:
        return processes_below(self.pid)

    def ports(self) -> frozenset[int]:
        return listening_ports(self.pid)

    def memory_bytes(self) -> int | None:
        return self._group.memory_bytes()

    async def snapshot(self, name: str) -> Snapshot:
        place = self._isolation.snapshots.place(name)
        was_paused = self._paused
        try:
            await self.pause()
            for path in SAVED:
                handle = inside.open_inside(self._root, path, os.O_PATH | os.O_DIRECTORY)
                await copy_folder(handle, Path(f"{place}{path}"), self.spec.disk_mib << 20)
        except BaseException as error:
            await asyncio.to_thread(remove_tree, place)
            if isinstance(error, OSError):
                raise SandboxFailure("disk", f"a snapshot could not be taken: {error}") from error
            raise
        finally:
            if not was_paused and not self._closed:
                await self.resume()
        return await asyncio.to_thread(
            self._isolation.snapshots.keep, name, place, ({"kind": "folder", "folder": str(place)},)
        )

    async def checkpoint(self, name: str) -> Checkpoint:
        raise SandboxFailure("container", await self._isolation.why_not_live())

    async def suspend(self, name: str) -> Checkpoint:
        raise SandboxFailure("container", await self._isolation.why_not_live())

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            os.close(self._root)
            await self._isolation.remove(self.id, self.pid, self._folder, self._group)


def _signal(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _same_namespace(first: int) -> list[int]:
    found = []
    with contextlib.suppress(OSError):
        own = os.readlink(f"/proc/{first}/ns/pid")
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{name}/ns/pid") == own:
                    found.append(int(name))
    return found
