"""Files and sockets of a container as the host reads them, with paths that lead nowhere but into the container."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from pathlib import Path

from tars_jax.sandbox.computer.launcher.syscalls import open_inside


def open_file(root: int, path: str) -> int:
    """A descriptor to read a regular file below the folder `root` (a descriptor). Raises OSError."""
    descriptor = open_inside(root, path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(f"{path} must be a regular file")


def read(root: int, path: str, limit: int) -> bytes:
    """At most `limit` bytes of a regular file below `root`. Raises OSError."""
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
