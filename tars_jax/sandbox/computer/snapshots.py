"""Copies of a container's files at one moment, and the layers that containers launched from them lie on.

A container writes to one upper layer. A snapshot is a copy of that layer, taken while all processes stand still; the
layers below it never change and are shared. A container that is launched from a snapshot has the copy as a lower layer
and an empty upper one, so a fork takes the same time whatever the size.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.computer import copying
from tars_jax.sandbox.computer.container import Snapshot
from tars_jax.sandbox.computer.launcher.removing import remove_tree
from tars_jax.sandbox.failures import Broken

_CLONE_FILE = 0x40049409  # FICLONE: the copy shares its blocks, on btrfs and XFS
_CHUNK = 64 << 20


def copy_upper(disk: dict[str, Any], descriptor: int, folder: Path) -> dict[str, Any]:
    """Copies the upper layer of a disk whose mount is open as `descriptor` into a folder: a layer of plans.

    Nobody may write meanwhile. Raises OSError or CalledProcessError.
    """
    folder.mkdir()
    if disk["kind"] == "image":
        if ctypes.CDLL(None, use_errno=True).syncfs(descriptor) < 0:  # from the mounted file system into its image
            raise OSError(ctypes.get_errno(), "the disk could not be written out")
        copy_image(Path(disk["file"]), folder / "layer.ext4")
        return {"kind": "image", "file": str(folder / "layer.ext4")}
    upper = os.open("upper", os.O_PATH | os.O_DIRECTORY, dir_fd=descriptor)
    try:
        # cp keeps what shutil does not: the attributes and devices by which an overlay says that a file is gone.
        source = f"/proc/self/fd/{upper}/."
        subprocess.run(["cp", "-a", source, str(folder)], check=True, pass_fds=[upper], capture_output=True)
    finally:
        os.close(upper)
    return {"kind": "folder", "folder": str(folder)}


def copy_image(source: Path, target: Path) -> None:
    """Copies a file with its holes; where the file system can, both share their blocks."""
    with open(source, "rb") as original, open(target, "xb") as copy:
        with contextlib.suppress(OSError):
            fcntl.ioctl(copy, _CLONE_FILE, original.fileno())
            return
        size = os.fstat(original.fileno()).st_size
        copy.truncate(size)
        at = 0
        while at < size:
            try:
                at = os.lseek(original.fileno(), at, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:  # a hole up to the end
                    return
                raise
            end = os.lseek(original.fileno(), at, os.SEEK_HOLE)
            while at < end:
                count = os.copy_file_range(original.fileno(), copy.fileno(), min(end - at, _CHUNK), at, at)
                if count == 0:
                    return
                at += count


class Snapshots:
    """The snapshots of one owner, and the files that keep them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept: dict[str, Snapshot] = {}
        self._copies: set[str] = set()  # folders of copies that are on the disk
        numbers = [int(path.name) for path in folder.glob("*") if path.name.isdecimal()]
        self._number = max(numbers, default=0)  # of another process that had the folder

    def place(self, name: str) -> Path:
        """A folder for a new snapshot. Raises InputError for a name that is taken."""
        if name in self._kept:
            raise InputError(f"name of a snapshot must be a new one; got {name!r}")
        self._folder.mkdir(exist_ok=True)
        self._number += 1
        return self._folder / str(self._number)

    def keep(self, name: str, copy: Path, layers: tuple[dict[str, Any], ...]) -> Snapshot:
        """Raises InputError for a name that another took meanwhile. Takes a while where there are many files."""
        if name in self._kept:
            raise InputError(f"name of a snapshot must be a new one; got {name!r}")
        told = subprocess.run(["du", "-s", "-B1", str(copy)], stdin=subprocess.DEVNULL, capture_output=True).stdout
        size = int(told.split()[0]) if told else 0
        self._copies.add(str(copy))
        snapshot = self._kept[name] = Snapshot(name, layers, size)
        return snapshot

    def adopt(self, snapshot: Snapshot) -> None:
        """Adopts a snapshot that another process has taken in the same folder."""
        self._kept[snapshot.name] = snapshot
        for layer in snapshot.layers:
            self._copies.add(layer["folder"] if layer["kind"] == "folder" else os.path.dirname(layer["file"]))

    def remove(self, snapshot: Snapshot, used: list[dict[str, Any]]) -> None:
        """Forgets a snapshot, and removes copies that neither other snapshots nor layers in use (`used`) lie on."""
        self._kept.pop(snapshot.name, None)
        needed = [*used, *(layer for kept in self._kept.values() for layer in kept.layers)]
        folders = {layer["folder"] if layer["kind"] == "folder" else os.path.dirname(layer["file"]) for layer in needed}
        for copy in self._copies - folders:
            remove_tree(Path(copy))
            self._copies.discard(copy)


async def copy_folder(source: int, target: Path, most_bytes: int) -> None:
    """Takes over the folder `source`, open or a handle (O_PATH): its owner may have closed it to itself.

    A cancelled copy has ended. Raises Broken, which says what was not to be copied; OSError where this machine lacks
    something, such as room.
    """
    opened = [copying.open_closed(source, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
    try:
        target.mkdir(parents=True, exist_ok=True)
        opened.append(os.open(target, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", copying.__file__, *map(str, opened), str(most_bytes), pass_fds=opened,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
    finally:
        for descriptor in opened:
            os.close(descriptor)
    try:
        said = (await process.communicate())[1].decode(errors="replace").strip()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        raise
    if process.returncode == copying.SUCH:
        raise Broken(f"files could not be copied: {said[-500:]}")
    if process.returncode != 0:
        raise OSError(said[-500:] or f"its process ended with {process.returncode}")
