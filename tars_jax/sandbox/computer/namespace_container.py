"""A container of our own launcher's, as the host handles it: its files, its standing still, its copies."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Collection
from pathlib import Path
from typing import Any, Protocol

from tars_jax.sandbox.computer import inside
from tars_jax.sandbox.computer.checkpoints import Criu, gone, mounts_of
from tars_jax.sandbox.computer.container import Checkpoint, Snapshot
from tars_jax.sandbox.computer.control_groups import ControlGroup
from tars_jax.sandbox.computer.launching import Events
from tars_jax.sandbox.computer.processes import Process, listening_ports, processes_below
from tars_jax.sandbox.computer.root import find_inside
from tars_jax.sandbox.computer.snapshots import Snapshots, copy_upper
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.computer.walking import Sought
from tars_jax.sandbox.failures import SandboxFailure

RUN = "/run/agent"
LISTEN = "/run/guest/socket"  # in a folder of root's, which an agent can neither enter nor change
_UNMOUNT_S = 10.0


class RunsContainers(Protocol):
    """The isolation as its containers see it."""

    snapshots: Snapshots
    criu: Criu

    def events(self, id: str) -> Events:
        """Raises SandboxFailure for a container that has ended."""
        ...

    def images(self) -> Path:
        """A new folder for what CRIU writes."""
        ...

    def hold_user(self, user: int, holder: str) -> None: ...

    async def close_container(self, container: Any, folder: Path, group: ControlGroup) -> None: ...


class NamespaceContainer:
    """A container of this kind."""

    run_folder = RUN

    def __init__(
        self, isolation: RunsContainers, id: str, spec: ContainerSpec, folder: Path, group: ControlGroup, pid: int,
        descriptors: list[int], plan: dict[str, Any],
    ) -> None:  # fmt: skip
        self.id, self.spec, self.pid, self.home = id, spec, pid, spec.home
        self._isolation, self._folder, self._group, self._plan = isolation, folder, group, plan
        self._paused, self._closed = group.is_frozen, False  # one that was adopted may stand still
        self._disk, self._root = descriptors  # they show the files also when all processes have ended

    def host_path(self, path: str) -> Path:
        return Path(f"/proc/{self.pid}/root{path}")

    def open_folder(self, path: str) -> int:
        return inside.open_folder(self._root, path)

    def read(self, path: str, limit: int = 1 << 20) -> bytes:
        return inside.read(self._root, path, limit)

    @property
    def readable_when_paused(self) -> bool:
        return self._group.can_freeze

    def find(self, seeking: Collection[Sought]) -> list[str]:
        return find_inside(self._root, self.spec, seeking)

    async def connect(self, path: str) -> Any:
        return await inside.connect(self._root, path)

    async def dial(self) -> Any:
        return await inside.connect(self._root, LISTEN)

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

    def processes(self) -> list[Process]:
        return processes_below(self.pid)

    def ports(self) -> frozenset[int]:
        return listening_ports(self.pid)

    def memory_bytes(self) -> int | None:
        return self._group.memory_bytes()

    async def snapshot(self, name: str) -> Snapshot:
        self._isolation.events(self.id)
        was_paused = self._paused
        try:
            await self.pause()
            return await self._copied(name)
        finally:
            if not was_paused and not self._closed:
                await self.resume()

    async def _copied(self, name: str) -> Snapshot:
        """Copies the files of a container that stands still."""
        place = self._isolation.snapshots.place(name)
        try:
            layer = await asyncio.to_thread(copy_upper, self._plan["disk"], self._disk, place)
        except (OSError, subprocess.CalledProcessError) as error:
            shutil.rmtree(place, ignore_errors=True)
            raise SandboxFailure("disk", f"a snapshot could not be taken: {error}") from error
        return await asyncio.to_thread(self._isolation.snapshots.keep, name, place, (layer, *self.layers))

    async def checkpoint(self, name: str) -> Checkpoint:
        """Files and processes at one moment; the container goes on."""
        was_paused = self._paused
        images = self._isolation.images()
        try:
            await self.pause()
            mounts = await self._dump(images, keep=True)
            snapshot = await self._copied(name)
        except BaseException:
            shutil.rmtree(images, ignore_errors=True)
            raise
        finally:
            if not was_paused and not self._closed:
                await self.resume()
        return self._held(Checkpoint(snapshot, images, mounts, size_of(images), user=self._plan["user"]))

    async def suspend(self, name: str) -> Checkpoint:
        """The container's end, with all that is needed to go on from there."""
        images = self._isolation.images()
        try:
            await self.pause()
            mounts = await self._dump(images, keep=False)
        except BaseException:
            shutil.rmtree(images, ignore_errors=True)
            if not self._closed:
                await self.resume()
            raise
        await self.wait()
        disk: Path | None = None
        if self._plan["disk"]["kind"] == "image":  # it goes with its layers, and grows by none
            snapshot, image = Snapshot(name, self.layers, 0), Path(self._plan["disk"]["file"])
            await self.close_files()
            if not await gone(lambda: not is_attached(image), _UNMOUNT_S):
                raise SandboxFailure("disk", f"{image} is still in use")
            disk = image.rename(images / "disk.ext4")
        else:
            snapshot = await self._copied(name)
        checkpoint = self._held(Checkpoint(snapshot, images, mounts, size_of(images), disk, self._plan["user"]))
        await self.close()
        return checkpoint

    def _held(self, checkpoint: Checkpoint) -> Checkpoint:
        """Its processes come back as the user that they are."""
        self._isolation.hold_user(checkpoint.user, checkpoint.images.name)
        return checkpoint

    async def _dump(self, images: Path, *, keep: bool) -> dict[str, str]:
        if self.spec.root:
            raise SandboxFailure("container", "programs that are root of a computer cannot be copied live")
        if why := await self._isolation.criu.why_not():
            raise SandboxFailure("container", why)
        mountinfo = Path(f"/proc/{self.pid}/mountinfo").read_text()
        shown = {**{path: path for path in self._plan["system"]}, **self._plan["binds"]}
        places, sources = mounts_of(mountinfo, shown)
        freezer = self._group.freezer_folder()
        await self._isolation.criu.dump(self.pid, self._plan["user"], images, places, freezer, keep=keep)
        return sources

    @property
    def layers(self) -> tuple[dict[str, Any], ...]:
        """Layers of snapshots, the uppermost first, without its own and what every container of its user has."""
        return tuple(layer for layer in self._plan["layers"] if "base" not in layer)

    async def close_files(self) -> None:
        if self._root >= 0:
            os.close(self._root)
            os.close(self._disk)
            self._root = self._disk = -1

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await self.close_files()
            await self._isolation.close_container(self, self._folder, self._group)


def is_attached(image: Path) -> bool:
    """Whether a loop device still shows it."""
    files = Path("/sys/block").glob("loop*/loop/backing_file")
    return any(_text(file).strip() == str(image) for file in files)


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:  # it has just gone
        return ""


def size_of(folder: Path) -> int:
    return sum(file.lstat().st_blocks * 512 for file in folder.rglob("*"))
