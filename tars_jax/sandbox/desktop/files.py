"""Files and sockets of the inside as this process opens them: no symbolic link of the inside leads it elsewhere."""

from __future__ import annotations

import os
import socket

from tars_jax.sandbox.computer.inside import open_file, open_folder, open_inside
from tars_jax.sandbox.computer.machine import Machine


class Inside:
    """The root of a machine. Every path is followed as far as there is no link."""

    def __init__(self, machine: Machine) -> None:
        self.open_root(machine)

    def open_root(self, machine: Machine) -> None:
        """Opens the root, also after `close`, where the machine has moved."""
        self._root = os.open(machine.host_path("/"), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    def open(self, path: str) -> int:
        """A descriptor to read a regular file. Raises OSError."""
        return open_file(self._root, path)

    def folder(self, path: str) -> int:
        """A descriptor of a folder. Raises OSError."""
        return open_folder(self._root, path)

    def read(self, path: str, limit: int = 1 << 20, *, end: bool = False) -> bytes:
        """Reads at most `limit` bytes from the beginning of a file, or from its end. Raises OSError."""
        with open(self.open(path), "rb") as file:
            if end:
                file.seek(max(0, os.fstat(file.fileno()).st_size - limit))
            return file.read(limit)

    def text(self, path: str, *, limit: int = 1 << 16) -> str:
        """The end of a file, as far as it can be read."""
        try:
            return self.read(path, limit, end=True).decode("utf-8", "replace")
        except OSError:
            return ""

    def connect(self, path: str) -> socket.socket:
        """A connection to a unix socket; its path may be of any length. Raises OSError."""
        descriptor = open_inside(self._root, path, os.O_PATH)
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connected.connect(f"/proc/self/fd/{descriptor}")
        except BaseException:
            connected.close()
            raise
        finally:
            os.close(descriptor)
        return connected

    def close(self) -> None:
        """Closes the folder; a second call does nothing."""
        root, self._root = self._root, -1
        if root >= 0:
            os.close(root)
