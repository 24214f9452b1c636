"""Computers without isolation, by name alone: for a user's own code, where no kind of isolation works.

Programs run as this user, see this machine's files, processes and network, and nothing limits what they take. A home is
a folder of its own, and all that was started ends with its computer. Never for what an untrusted policy writes.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import os
import signal
import socket
from collections.abc import Collection, Sequence
from pathlib import Path

from tars_jax import InputError
from tars_jax.sandbox.computer.container import Checkpoint, Container, Isolation, Snapshot
from tars_jax.sandbox.computer.inside import connect_to
from tars_jax.sandbox.computer.launcher.removing import remove_tree
from tars_jax.sandbox.computer.processes import Process, listening_ports, processes_below
from tars_jax.sandbox.computer.runs import RunFolder
from tars_jax.sandbox.computer.snapshots import Snapshots, copy_folder
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.computer.walking import Sought, find
from tars_jax.sandbox.failures import Broken, SandboxFailure

_END_S = 10.0  # for a guest to end what it has started
_NOT_LIVE = "programs without isolation cannot be copied live"


async def open_unisolated(folder: Path) -> Isolation:
    """Opens computers without isolation, which works everywhere."""
    return Unisolated(RunFolder(folder))


class Unisolated:
    name = "none"
    socket_is_open = True

    def __init__(self, run: RunFolder) -> None:
        self._run = run
        self._numbers = itertools.count(1)
        self._snapshots = Snapshots(run.path / "snapshots")
        self._open: set[UnisolatedContainer] = set()
        self.guest_socket: tuple[str, ...] = ("fd:0", "subreaper=1", f"owner={os.getpid()}")

    async def launch(
        self, spec: ContainerSpec, argv: Sequence[str], snapshot: Snapshot | None = None, *, listen: bool = False
    ) -> Container:  # fmt: skip
        id = f"{self._run.token}-{(number := next(self._numbers))}"
        folder = self._run.path / str(number)
        home, run = folder / "home", folder / "run"
        for made in (folder, home, run):
            made.mkdir(mode=0o700)
        try:
            if snapshot is not None:
                await _copy(Path(snapshot.layers[0]["folder"]), home, spec)
            process = await self._start(spec, argv, home, run, listen=listen)
        except (OSError, Broken) as error:
            await asyncio.to_thread(remove_tree, folder)
            if isinstance(error, Broken):
                raise
            if isinstance(error, FileNotFoundError | PermissionError):
                raise InputError(f"argv must name a program of this machine; got {argv[0]!r}") from error
            raise SandboxFailure("container", f"it did not start: {error}") from error
        container = UnisolatedContainer(self, id, spec, folder, process)
        self._open.add(container)
        return container

    async def _start(
        self, spec: ContainerSpec, argv: Sequence[str], home: Path, run: Path, *, listen: bool
    ) -> asyncio.subprocess.Process:  # fmt: skip
        command = [str(spec.binds.get(word, word)) for word in argv]  # what would be bound is where it is
        with socket.socket(socket.AF_UNIX) as listener, open(run / "log", "ab") as log:
            if listen:
                _bind(listener, run / "socket")
                os.chmod(run / "socket", 0o600)
                listener.listen(64)
            return await asyncio.create_subprocess_exec(
                *command,
                stdin=listener.fileno() if listen else asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=home,
                env=spec.variables(str(home), str(run)),
                start_new_session=True,
            )

    def forget(self, container: UnisolatedContainer) -> None:
        self._open.discard(container)

    async def keep(self, name: str, home: Path, spec: ContainerSpec) -> Snapshot:
        """Copies a home. Raises OSError."""
        place = self._snapshots.place(name)
        try:
            await _copy(home, place, spec)
        except BaseException:
            await asyncio.to_thread(remove_tree, place)
            raise
        return await asyncio.to_thread(self._snapshots.keep, name, place, ({"kind": "folder", "folder": str(place)},))

    async def remove_snapshot(self, snapshot: Snapshot) -> None:
        await asyncio.to_thread(self._snapshots.remove, snapshot, [])

    async def why_not_live(self) -> str:
        return _NOT_LIVE

    async def restore(self, spec: ContainerSpec, checkpoint: Checkpoint) -> Container:
        raise SandboxFailure("container", _NOT_LIVE)

    async def remove_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Does nothing: there are no checkpoints."""

    async def close(self) -> None:
        await asyncio.gather(*(container.close() for container in list(self._open)))
        await asyncio.to_thread(self._run.close)


@dataclasses.dataclass(eq=False)
class UnisolatedContainer:
    """A folder, and the programs below one process."""

    _isolation: Unisolated
    id: str
    spec: ContainerSpec
    _folder: Path
    _process: asyncio.subprocess.Process
    _closed: bool = False

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def home(self) -> str:
        return str(self._folder / "home")

    @property
    def run_folder(self) -> str:
        return str(self._folder / "run")

    def host_path(self, path: str) -> Path:
        return Path(path)

    def open_folder(self, path: str) -> int:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def read(self, path: str, limit: int = 1 << 20) -> bytes:
        with open(path, "rb") as file:
            return file.read(limit)

    readable_when_paused = False  # it would be by signals, which shells and stopped programs notice

    def find(self, seeking: Collection[Sought]) -> list[str]:
        """Finds files in its own folders alone: others of this user may hold the same for other reasons."""
        return [
            f"{place}/{path}"
            for place in (self.home, self.run_folder)
            for path in find(self.open_folder(place), seeking)
        ]

    async def connect(self, path: str) -> socket.socket:
        return await connect_to(Path(path))

    async def dial(self) -> socket.socket:
        return await connect_to(self._folder / "run" / "socket")

    async def wait(self, timeout_s: float | None = None) -> int | None:
        try:
            return await asyncio.wait_for(asyncio.shield(self._process.wait()), timeout_s)
        except TimeoutError:
            return None

    async def pause(self) -> None:
        self._signal_all(signal.SIGSTOP)

    async def resume(self) -> None:
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, number: int) -> None:
        """To the first process and all below it, until none is new."""
        told: set[int] = set()
        while new := {self.pid, *(process.id for process in self.processes())} - told:
            for pid in new:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            told |= new

    def processes(self) -> list[Process]:
        return processes_below(self.pid)

    def ports(self) -> frozenset[int]:
        return listening_ports(self.pid, [process.id for process in self.processes()])

    def memory_bytes(self) -> int | None:
        return None

    async def snapshot(self, name: str) -> Snapshot:
        await self.pause()
        try:
            return await self._isolation.keep(name, Path(self.home), self.spec)
        except OSError as error:
            raise SandboxFailure("disk", f"a snapshot could not be taken: {error}") from error
        finally:
            await self.resume()

    async def checkpoint(self, name: str) -> Checkpoint:
        raise SandboxFailure("container", _NOT_LIVE)

    async def suspend(self, name: str) -> Checkpoint:
        raise SandboxFailure("container", _NOT_LIVE)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await self.resume()
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        try:
            await asyncio.wait_for(self._process.wait(), _END_S)
        except TimeoutError:
            self._signal_all(signal.SIGKILL)
            await self._process.wait()
        self._isolation.forget(self)
        await asyncio.to_thread(remove_tree, self._folder)


def _bind(listener: socket.socket, path: Path) -> None:
    """Also where the path is longer than the address of a socket may be."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        listener.bind(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)


async def _copy(source: Path, target: Path, spec: ContainerSpec) -> None:
    await copy_folder(os.open(source, os.O_PATH | os.O_DIRECTORY), target, spec.disk_mib << 20)
