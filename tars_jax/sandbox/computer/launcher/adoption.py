"""Adoption of containers that outlive their owner: how long each waits for another one, and who that is.

The new owner connects to RUN_FOLDER/control, says {"secret": TEXT} and hears one line, {"adopted": [CONTAINER, ...]},
each with its "plan", its "pid" (0: it has ended, with "status") and "disk", the place of its disk's descriptor among
those that come with the line (-1: none); "descriptors" is how many these are, "protocol" the version of all that owner
and launcher say to each other. The first descriptor is that of the folder's lock. From then on the connection
is what standard input and output were. A wrong secret is a closed connection.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import selectors
import socket
import struct
import time
from pathlib import Path
from typing import Any

CONTROL = "control"
# Whoever changes what owner and launcher say to each other counts it up: a launcher of another version keeps its
# containers to itself, and is not misunderstood.
PROTOCOL = 1
PATIENCE_S = 10.0  # for a secret, and for an answer that is not taken
LONGEST = 256  # bytes of a secret's line


class Adoption:
    def __init__(self, folder: Path, lock: int, selector: selectors.BaseSelector) -> None:
        os.set_inheritable(lock, False)
        self._folder, self._lock, self._selector = folder, lock, selector
        self._secret = ""
        self._listener: socket.socket | None = None
        self._keep: dict[str, float] = {}  # seconds, by container
        self._disks: dict[str, int] = {}
        self._statuses: dict[str, int] = {}  # of those that have ended and were not forgotten
        self._since: float | None = None  # when the owner went
        self._comer: socket.socket | None = None  # who has said the secret

    # While there is an owner.

    def listen(self, secret: str) -> None:
        """The path may be too long for an address, so its folder is where this process is meanwhile."""
        self._secret = secret
        before = os.getcwd()
        os.chdir(self._folder)
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(CONTROL)
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(CONTROL)
            os.chmod(CONTROL, 0o600)
            self._listener.listen(8)
        finally:
            os.chdir(before)

    def stop(self) -> None:
        self._keep.clear()

    def keep(self, id: str, seconds: float) -> None:
        self._keep[id] = seconds
        if seconds <= 0:
            del self._keep[id]

    def hold(self, id: str, pid: int, disk: int) -> None:
        """The mounted disk of a container whose first process is there: it has no path."""
        if self._secret and disk >= 0 and id not in self._disks:
            with contextlib.suppress(OSError):
                self._disks[id] = os.open(f"/proc/{pid}/fd/{disk}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def release(self, id: str, status: int) -> None:
        """Notes that a container has ended."""
        self._statuses[id] = status
        if (disk := self._disks.pop(id, None)) is not None:
            os.close(disk)

    def forget(self, id: str) -> None:
        self._statuses.pop(id, None)
        self._keep.pop(id, None)

    # While there is none.

    def begin_to_wait(self) -> bool:
        """The owner has gone; whether another one may come."""
        if self._listener is None or not self._keep:
            return False
        self._since = time.monotonic()
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        return True

    @property
    def is_waiting(self) -> bool:
        return self._since is not None

    @property
    def goes_on(self) -> bool:
        return self._since is None or any(map(self.keeps, self._keep))

    @property
    def wait_s(self) -> float | None:
        """Seconds until the next container is kept no more."""
        if self._since is None:
            return None
        ends = [self._since + seconds for seconds in self._keep.values()]
        return min((max(end - time.monotonic(), 0.0) for end in ends if end > time.monotonic()), default=0.0) + 0.01

    def keeps(self, id: str) -> bool:
        return self._since is None or time.monotonic() < self._since + self._keep.get(id, 0.0)

    def _accept(self) -> None:
        assert self._listener is not None
        with contextlib.suppress(OSError):
            comer, _ = self._listener.accept()
            comer.settimeout(PATIENCE_S)
            _, user, _ = struct.unpack("3i", comer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            if self._comer is None and user == os.geteuid() and self._is_known(comer):
                self._comer = comer
            else:
                comer.close()

    def _is_known(self, comer: socket.socket) -> bool:
        said = b""
        while b"\n" not in said and len(said) < LONGEST:
            if not (piece := comer.recv(LONGEST)):
                return False
            said += piece
        with contextlib.suppress(ValueError, TypeError, KeyError):
            return hmac.compare_digest(str(json.loads(said)["secret"]).encode(), self._secret.encode())
        return False

    def take_owner(self, plans: list[dict[str, Any]], running: dict[int, dict[str, Any]]) -> bool:
        """Whether there is an owner again: standard input and output are then its connection."""
        if (comer := self._comer) is None or self._listener is None:
            return False
        self._comer = None
        pids = {plan["id"]: pid for pid, plan in running.items()}
        told, descriptors = [], [self._lock]
        for plan in plans:
            disk = self._disks.get(plan["id"], -1)
            place = len(descriptors) if disk >= 0 else -1
            descriptors += [disk] if disk >= 0 else []
            pid = pids.get(plan["id"], 0)
            told.append({"plan": plan, "pid": pid, "status": self._statuses.get(plan["id"], -1), "disk": place})
        try:
            line = json.dumps({"protocol": PROTOCOL, "adopted": told, "descriptors": len(descriptors)}).encode() + b"\n"
            for at in range(0, len(descriptors), 100):  # no message may bring more than 253
                socket.send_fds(comer, [b"."], descriptors[at : at + 100])
            comer.sendall(line)
        except OSError:
            comer.close()
            return False
        comer.setblocking(True)
        self._selector.unregister(self._listener)
        os.dup2(comer.fileno(), 0)
        os.dup2(comer.fileno(), 1)
        comer.close()
        self._since = None
        return True
