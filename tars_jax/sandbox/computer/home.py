"""The files of a computer's home folder, put there before an agent begins and read from outside when it is judged.

Reading does not ask the guest, whose user the agent shares: it walks the folder by descriptors, and follows no link.
"""

from __future__ import annotations

import dataclasses
import io
import os
import stat
import tarfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

MOST_FILES = 2000
MOST_BYTES = 16 << 20
_DEEPEST = 40  # folders


@dataclasses.dataclass(frozen=True)
class File:
    """A regular file."""

    data: bytes
    executable: bool = False

    @property
    def text(self) -> str:
        """What is no UTF-8 becomes the replacement character."""
        return self.data.decode(errors="replace")


Tree: TypeAlias = Mapping[str, File]  # paths below the home folder, such as "box/a.txt"


class TooMuch(Exception):
    """The folder holds more than anybody reads."""


def packed(files: Tree, folders: tuple[str, ...] = ()) -> bytes:
    """A tar archive of files and further folders."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path in folders:
            member = tarfile.TarInfo(path)
            member.type, member.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(member)
        for path, file in files.items():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(file.data), 0o755 if file.executable else 0o644
            tar.addfile(member, io.BytesIO(file.data))
    return archive.getvalue()


def read_home(home: Path, leaving_out: Collection[str] = ()) -> tuple[dict[str, File], frozenset[str]]:
    """The regular files below a folder, and the folders. Links, sockets and devices are neither.

    `home`: as this process sees it; an agent may own what is in it, and nothing above it. `leaving_out`: names in it
    that are not looked into, such as .cache. Raises TooMuch for more than MOST_FILES files or MOST_BYTES in all,
    OSError where the folder itself cannot be read.
    """
    files: dict[str, File] = {}
    folders: set[str] = set()
    size = 0
    for path, status, data in _walk(home, leaving_out):
        if stat.S_ISDIR(status.st_mode):
            folders.add(path)
        else:
            files[path] = File(data, bool(status.st_mode & 0o100))
            size += len(data)
        if len(files) + len(folders) > MOST_FILES or size > MOST_BYTES:
            raise TooMuch(f"more than {MOST_FILES} files or {MOST_BYTES} bytes")
    return files, frozenset(folders)


def _walk(home: Path, leaving_out: Collection[str]) -> Iterator[tuple[str, os.stat_result, bytes]]:
    """Files and folders, which may change meanwhile: one that has gone is left out."""
    for folder, names, files, descriptor in os.fwalk(home, follow_symlinks=False):
        below = os.path.relpath(folder, home)
        prefix = "" if below == "." else f"{below}/"
        if not prefix:
            names[:] = [name for name in names if name not in leaving_out]
            files = [name for name in files if name not in leaving_out]
        if prefix.count("/") >= _DEEPEST:
            raise TooMuch(f"more than {_DEEPEST} folders in each other")
        for name in (*names, *files):
            try:
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    yield prefix + name, status, b""
                if not stat.S_ISREG(status.st_mode):
                    continue
                opened = os.open(name, flags, dir_fd=descriptor)
            except OSError:
                continue
            with open(opened, "rb") as file:
                status = os.fstat(opened)
                if stat.S_ISREG(status.st_mode):
                    yield prefix + name, status, file.read(MOST_BYTES + 1)
