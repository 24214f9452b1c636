"""Places of a computer's home folder that no reader of its files tells: links, pipes and empty folders, and single
files where there are too many of them to be read whole. They are looked at from outside, and no link is followed."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Collection, Iterable

from tars_jax.sandbox.computer.computer import Computer
from tars_jax.sandbox.computer.home import MOST_BYTES, MOST_FILES, File
from tars_jax.sandbox.computer.inside import open_file
from tars_jax.sandbox.computer.walking import DEEPEST, Unreadable

FOLDER = "folder"
_KINDS = ((stat.S_ISFIFO, "fifo"), (stat.S_ISSOCK, "socket"), (stat.S_ISCHR, "device"), (stat.S_ISBLK, "device"))


async def special_files(computer: Computer, leaving_out: Collection[str]) -> dict[str, str]:
    """Kinds of whatever is no regular file, by paths below the home folder. Raises Unreadable."""
    try:
        top = computer.container.open_folder(computer.machine.home)
    except OSError as error:
        raise Unreadable(f"the home folder cannot be read: {error}") from error
    try:
        return await asyncio.to_thread(_places, top, leaving_out)
    finally:
        os.close(top)


def _places(top: int, leaving_out: Collection[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for folder, folders, files, opened in os.fwalk(".", dir_fd=top, onerror=_raised):
        prefix = folder.removeprefix(".").removeprefix("/")
        if not prefix:
            folders[:] = [name for name in folders if name not in leaving_out]
        for name in (*folders, *files):
            path = f"{prefix}/{name}" if prefix else name
            if kind := "" if path in leaving_out else _kind(name, opened):
                found[path] = kind
        if len(found) > MOST_FILES or prefix.count("/") > DEEPEST:
            raise Unreadable(f"more than {MOST_FILES} folders and links, or {DEEPEST} folders in each other")
    return found


def _raised(error: OSError) -> None:
    if isinstance(error, PermissionError):
        raise Unreadable(f"{error.filename} is closed to its own owner") from error


def _kind(name: str, folder: int) -> str:
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            return f"link to {os.readlink(name, dir_fd=folder)}"
    except OSError:  # it has gone
        return ""
    return FOLDER if stat.S_ISDIR(mode) else next((kind for holds, kind in _KINDS if holds(mode)), "")


async def read_files(computer: Computer, paths: Iterable[str]) -> tuple[dict[str, File], frozenset[str]]:
    """Regular files at these paths, and all paths that could be looked at."""
    try:
        top = computer.container.open_folder(computer.machine.home)
    except OSError:
        return {}, frozenset()
    try:
        return await asyncio.to_thread(_named, top, paths)
    finally:
        os.close(top)


def _named(top: int, paths: Iterable[str]) -> tuple[dict[str, File], frozenset[str]]:
    files, looked_at = dict[str, File](), set[str]()
    for path in paths:
        try:
            with open(open_file(top, path), "rb") as file:
                files[path] = File(file.read(MOST_BYTES + 1), bool(os.fstat(file.fileno()).st_mode & 0o100))
        except PermissionError:
            continue
        except OSError:  # there is no such file
            pass
        looked_at.add(path)
    return files, frozenset(looked_at)
