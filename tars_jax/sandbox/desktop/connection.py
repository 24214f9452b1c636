"""A connection to an X server whose socket is a file anywhere, as in a container's root: python-xlib over that socket.

A Connection belongs to one thread at a time. Its calls block; `cut` from another thread ends them.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from typing import Any

from Xlib import display, error
from Xlib.protocol import display as protocol
from Xlib.support import connect as system

COOKIE_NAME = b"MIT-MAGIC-COOKIE-1"
FAMILY_LOCAL, FAMILY_WILD = 256, 65535  # of an entry of an authority file: this machine by its name; any
GONE = (error.ConnectionClosedError, error.DisplayConnectionError, OSError, struct.error)


class _Given(threading.local):
    """The socket and the cookie that the display which this thread is making shall have."""

    socket: socket.socket | None = None
    cookie = b""


class _Connect:
    """python-xlib's way to a display; it knows paths of its own alone, so a socket that is there already is given."""

    given = _Given()
    get_display = staticmethod(system.get_display)

    def get_socket(self, name: str, kind: str | None, host: str, number: int) -> Any:
        return self.given.socket or system.get_socket(name, kind, host, number)

    def get_auth(self, connected: Any, name: str, kind: str | None, host: str, number: int) -> tuple[bytes, bytes]:
        if self.given.socket is not None:
            return COOKIE_NAME, self.given.cookie
        return system.get_auth(connected, name, kind, host, number)


vars(protocol)["connect"] = _Connect()  # where its Display looks for a socket


class XConnection:
    """An X display, and the means to leave it when the server does not answer."""

    def __init__(self, connected: socket.socket, cookie: bytes) -> None:
        """Takes a socket to the server over. Raises one of GONE when the server refuses the cookie."""
        self._socket = connected
        given = _Connect.given
        given.socket, given.cookie = self._socket, cookie
        try:
            self.display = display.Display(":0")
        except BaseException:
            self._socket.close()
            raise
        finally:
            given.socket = None
        self.errors: list[Any] = []  # what the server complained of and no call waited for
        self.display.set_error_handler(lambda complaint, request: self.errors.append(complaint))
        self.screen = self.display.screen()
        self.root = self.screen.root

    def cut(self) -> None:
        """Ends the connection at once, and so every call that waits in another thread."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with contextlib.suppress(*GONE):
            self.display.close()
        self._socket.close()


def authority_entry(family: int, address: bytes, cookie: bytes) -> bytes:
    """An entry of an authority file (Xau) for every display of an address."""
    fields = (address, b"", COOKIE_NAME, cookie)
    return struct.pack(">H", family) + b"".join(struct.pack(">H", len(field)) + field for field in fields)
