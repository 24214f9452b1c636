"""The files below a folder as the host finds them: by descriptors, no link followed; what is closed to it is said.

The standard library alone, as gvisor_container.py has this text run inside, too.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import stat
from collections.abc import Callable, Collection, Iterator

MOST_ENTRIES = 100_000  # of all places of a computer that programs can write to
DEEPEST = 40  # folders


class Unreadable(Exception):
    """A folder holds more than anybody reads, or is not there to be read: whoever works in it has made it so."""


@dataclasses.dataclass(frozen=True)
class Sought:
    """A file that is sought anywhere, by any name, by its content; an empty one is known by its name."""

    name: str  # without folders
    size: int  # bytes
    sha256: str

    @classmethod
    def of(cls, path: str, data: bytes) -> Sought:
        return cls(path.rpartition("/")[2], len(data), hashlib.sha256(data).hexdigest())


def walk(
    top: int, leaving_out: Collection[str] = (), wants: Callable[[str, int], bool] = lambda name, size: True
) -> Iterator[tuple[str, int | None]]:
    """Paths below a folder with an open descriptor of each regular file, to be closed by whoever gets it, and None for
    folders. Links, sockets and devices are neither.

    top: an open folder, which is taken over. leaving_out: paths below it that are not looked into. wants: says by name
    and bytes which files are opened; others are left out. All may change meanwhile: what has gone is left out. No more
    is listed or opened than is taken from here. Raises Unreadable for what is closed to this reader, or too deep.
    """
    waiting = [(top, "")]
    try:
        while waiting:
            folder, prefix = waiting.pop()
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        if prefix + entry.name not in leaving_out:
                            yield from _entry(folder, entry, prefix, waiting, wants)
            finally:
                os.close(folder)
    finally:
        for folder, _ in waiting:
            os.close(folder)


def _entry(
    folder: int, entry: os.DirEntry[str], prefix: str, waiting: list[tuple[int, str]], wants: Callable[[str, int], bool]
) -> Iterator[tuple[str, int | None]]:
    path = prefix + entry.name
    try:
        is_folder = entry.is_dir(follow_symlinks=False)
        if not is_folder:
            status = entry.stat(follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode) or not wants(entry.name, status.st_size):
                return
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | (os.O_DIRECTORY if is_folder else 0)
        opened = os.open(entry.name, flags, dir_fd=folder)
    except PermissionError as error:
        raise Unreadable(f"{path} is closed to its own owner") from error
    except OSError:  # it has gone
        return
    if is_folder:
        if prefix.count("/") >= DEEPEST:
            os.close(opened)
            raise Unreadable(f"more than {DEEPEST} folders in each other")
        waiting.append((opened, f"{path}/"))
        yield path, None
    elif stat.S_ISREG(os.fstat(opened).st_mode):
        yield path, opened
    else:
        os.close(opened)


def find(top: int, seeking: Collection[Sought], leaving_out: Collection[str] = ()) -> list[str]:
    """The paths below a folder, as of `walk`, of files that hold what is sought. Raises Unreadable, OSError."""
    sizes = {each.size for each in seeking if each.size}
    empty = {each.name for each in seeking if not each.size}
    held = {each.sha256 for each in seeking if each.size}
    seen, found = 0, []

    def wants(name: str, size: int) -> bool:
        nonlocal seen
        seen += 1
        return size in sizes if size else name in empty

    for path, opened in walk(top, leaving_out, wants):
        if opened is not None:
            with open(opened, "rb") as file:
                data = file.read(max(sizes, default=0) + 1)
            if not data or hashlib.sha256(data).hexdigest() in held:
                found.append(path)
        else:
            seen += 1
        if seen > MOST_ENTRIES:
            raise Unreadable(f"more than {MOST_ENTRIES} files and folders in all places")
    return sorted(found)


def tell(seeking: str, leaving_out: str) -> None:
    """Prints what is found below the root here, as JSON; both arguments are JSON, too: for a program that looks at what
    another kernel shows."""
    wanted = [Sought(**each) for each in json.loads(seeking)]
    try:
        said: dict[str, object] = {
            "found": find(os.open("/", os.O_RDONLY | os.O_DIRECTORY), wanted, json.loads(leaving_out))
        }
    except Unreadable as error:
        said = {"unreadable": str(error)}
    print(json.dumps(said))
