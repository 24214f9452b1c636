"""Files, folders and sockets of a container as the host opens them: it follows no link that the inside can change.

Every reader of a path inside goes through `open_inside`, in each kind of isolation.
"""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from pathlib import Path

from tars_jax.sandbox.computer.guest.roots import BENEATH, IN_ROOT, NO_MAGICLINKS, NO_SYMLINKS, openat2


def open_inside(root: int, path: str, flags: int, mode: int = 0o600) -> int:
    """Opens `path`, absolute or not, below the folder `root` (a descriptor). Raises OSError, for a link on the way too.

    Whatever an agent does to the names meanwhile, what is opened lies below `root`.
    """
    names = os.fsencode(path).lstrip(b"/") or b"."
    return openat2(root, names, flags | os.O_CLOEXEC, mode, BENEATH | NO_SYMLINKS | NO_MAGICLINKS)


def has_file(root: int, path: str) -> bool:
    """Whether a program inside would find it, by links that stay inside. For a root in which no program has begun."""
    try:
        os.close(openat2(root, os.fsencode(path), os.O_PATH | os.O_CLOEXEC, 0, IN_ROOT | NO_MAGICLINKS))
    except OSError:
        return False
    return True


def open_folder(root: int, path: str) -> int:
    """A descriptor to read a folder below `root`. Raises OSError."""
    return open_inside(root, path, os.O_RDONLY | os.O_DIRECTORY)


def open_file(root: int, path: str) -> int:
    """A descriptor to read a regular file below the folder `root` (a descriptor). Raises OSError."""
    descriptor = open_inside(root, path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(f"{path} must be a regular file")


def read(root: int, path: str, limit: int) -> bytes:
    """Reads at most `limit` bytes of a regular file below `root`. Raises OSError."""
    with open(open_file(root, path), "rb") as file:
        return file.read(limit)


async def connect(root: int, path: str) -> socket.socket:
    """A stream to a unix socket below `root`, non-blocking. Raises OSError."""
    descriptor = open_inside(root, path, os.O_PATH)
    return await _connect(descriptor, f"/proc/self/fd/{descriptor}")


async def connect_to(path: Path) -> socket.socket:
    """A connection to a unix socket, however long its path is. Raises OSError."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    return await _connect(folder, f"/proc/self/fd/{folder}/{path.name}")


async def _connect(descriptor: int, name: str) -> socket.socket:
    """`name` is by way of the descriptor, which is closed."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, name)
    except BaseException:
        connection.close()
        raise
    finally:
        os.close(descriptor)
    return connection
