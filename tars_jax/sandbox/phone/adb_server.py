"""An ADB server of our own: on its own port, with its own key, ended with whoever started it; one for all phones of
this process."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from typing import Self

from tars_jax import InputError
from tars_jax.sandbox.phone.failures import ADB_SERVER, SandboxFailure

START_SECONDS = 20.0
# The server ends when this process's end of the pipe closes, also by kill -9.
SCRIPT = """
exec 3<&0
"$0" -P "$1" nodaemon server 3<&- </dev/null & server=$!
(cat <&3 >/dev/null; kill $server 2>/dev/null) &
exec 3<&-
wait $server
"""


def find_adb(given: str | None = None) -> str:
    """The `adb` to run; raises InputError when there is none."""
    found = shutil.which(given or "adb")
    if found is None:
        raise InputError(
            f"adb must be a program that can be run; got {given or 'adb'!r}; `apt-get install adb` brings one"
        )
    return found


class AdbServer:
    """`adb nodaemon server` on a port of loopback that nobody else uses. Use as a context manager, or `close` it.

    A server of one's own leaves that of the user (port 5037) and its devices alone. Raises InputError without adb,
    SandboxFailure when the server does not start.
    """

    def __init__(self, adb: str | None = None, *, port: int = 0) -> None:
        program = find_adb(adb)
        self._home = tempfile.TemporaryDirectory(prefix="tars_jax-adb-")
        self.port = port or _free_port()
        # Without a home of its own it would write a key into the user's; without ADB_EMU it looks for emulators.
        environment = {**os.environ, "HOME": self._home.name, "ANDROID_SDK_HOME": self._home.name, "ADB_EMU": "0",
                       "ANDROID_ADB_SERVER_PORT": str(self.port), "TMPDIR": self._home.name}  # fmt: skip
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", SCRIPT, program, str(self.port)], env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        deadline = time.monotonic() + START_SECONDS
        while not answers("127.0.0.1", self.port):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.close()
                raise SandboxFailure(ADB_SERVER, f"adb did not start a server on port {self.port}")
            time.sleep(0.02)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """Ends the server at once, as a crash does."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """Ends the server. A second call does nothing."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self.kill()
        self._home.cleanup()


def answers(host: str, port: int, seconds: float = 2.0) -> bool:
    """Whether an ADB server listens there."""
    try:
        with socket.create_connection((host, port), seconds) as line:
            line.settimeout(seconds)
            line.sendall(b"000chost:version")
            return line.recv(4) == b"OKAY"
    except OSError:
        return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


class SharedServer:
    """The first user starts it, the last one ends it. Its calls block; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: AdbServer | None = None
        self._users = 0

    def acquire(self) -> int:
        """Starts the server where it does not run, and returns its port. Raises InputError without adb, SandboxFailure
        where it does not start."""
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
