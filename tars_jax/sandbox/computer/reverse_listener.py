"""The socket in a container's root by which a guest that cannot be reached comes to the host."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket

from tars_jax.sandbox.computer.inside import open_inside

FOLDER, NAME = "/run/guest", "socket"  # the folder is root's alone, inside too
_TAKEN = b"\1"  # says to the guest that a connection is in use (guest/dialing.py)
_LEAVE_S = 2.0


class ReverseListener:
    """The guest keeps one connection here that waits; `dial` takes it."""

    def __init__(self, root: int) -> None:
        """`root`: a descriptor of the container's root. Raises OSError."""
        self._folder = open_inside(root, FOLDER, os.O_PATH | os.O_DIRECTORY)
        self._waiting: asyncio.Queue[socket.socket] = asyncio.Queue()
        self._listener: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None
        self.met = asyncio.Event()  # the guest came once

    def open(self) -> None:
        """Opens the listener; a second call does nothing."""
        if self._listener is None:
            self._listener = listener = socket.socket(socket.AF_UNIX)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(NAME, dir_fd=self._folder)
            listener.bind(f"/proc/self/fd/{self._folder}/{NAME}")
            listener.listen(64)
            listener.setblocking(False)
            self._accepting = asyncio.create_task(self._accept(listener))

    async def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                peer, _ = await asyncio.get_running_loop().sock_accept(listener)
            except OSError:  # no descriptor is left, for instance
                await asyncio.sleep(0.05)
                continue
            peer.setblocking(False)
            self._waiting.put_nowait(peer)
            self.met.set()

    async def dial(self) -> socket.socket:
        """A connection to the guest; waits until it comes."""
        while True:
            peer = await self._waiting.get()
            try:
                peer.send(_TAKEN)
                return peer
            except OSError:  # it has gone again
                peer.close()

    async def shut(self) -> None:
        """Closes the listener: nothing waits here any more, on either side."""
        if self._accepting is not None:
            self._accepting.cancel()
        if self._listener is not None:
            self._listener.close()
        self._listener = self._accepting = None
        with contextlib.suppress(OSError):
            os.unlink(NAME, dir_fd=self._folder)
        while not self._waiting.empty():
            peer = self._waiting.get_nowait()
            with contextlib.suppress(OSError, TimeoutError):  # until the guest has closed its side
                peer.shutdown(socket.SHUT_WR)
                await asyncio.wait_for(asyncio.get_running_loop().sock_recv(peer, 1), _LEAVE_S)
            peer.close()

    async def close(self) -> None:
        """Closes the listener; a second call does nothing."""
        if self._folder >= 0:
            await self.shut()
            os.close(self._folder)
            self._folder = -1
