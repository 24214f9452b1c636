"""One ADB server for all phones of this process."""

from __future__ import annotations

import threading

from tars_jax.sandbox.phone.adb_server import AdbServer


class SharedServer:
    """The first user starts it, the last one ends it. Its calls block; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: AdbServer | None = None
        self._users = 0

    def acquire(self) -> int:
        """Its port. Raises InputError without adb, SandboxFailure where it does not start."""
        with self._lock:
            if self._server is not None and not self._server.alive:
                self._server.close()
                self._server = None
            if self._server is None:
                self._server = AdbServer()
            self._users += 1
            return self._server.port

    def release(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users and self._server is not None:
                self._server.close()
                self._server = None


SHARED_SERVER = SharedServer()
