"""Whether the programs of a desktop have anything left to do, as the kernel knows: if not, nothing more will be drawn.

A program that has handled its input sleeps in a call that waits for more, and the kernel says in which one and for how
long (/proc/ID/task/ID/syscall). One that animates sleeps for a few milliseconds; one that computes does not sleep.
"""

from __future__ import annotations

import os
import platform
import struct
from collections.abc import Callable

from tars_jax.sandbox.desktop.files import Inside

MOST_THREADS = 16  # of a program whose threads draw by clocks of their own, as a browser's do, more is not followed
MOST_PROGRAMS = 64
_PAIR = struct.Struct("qq")  # seconds, and a part of a second

# Calls that wait: number -> (argument that says how long, its unit); units below are of a pair behind a pointer.
_MS, _NS, _US, _FOREVER = "ms", 1e-9, 1e-6, None
_WAITS: dict[str, dict[int, tuple[int, object]]] = {
    "x86_64": {
        7: (2, _MS), 232: (3, _MS), 281: (3, _MS),  # poll, epoll_wait, epoll_pwait
        271: (2, _NS), 270: (4, _NS), 441: (3, _NS), 23: (4, _US),  # ppoll, pselect6, epoll_pwait2, select
        **dict.fromkeys((0, 34, 35, 43, 45, 47, 61, 128, 130, 202, 219, 230, 247, 288), (0, _FOREVER)),
    },
    "aarch64": {
        22: (3, _MS), 73: (2, _NS), 72: (4, _NS), 441: (3, _NS),
        **dict.fromkeys((63, 95, 98, 101, 115, 128, 133, 137, 202, 207, 212, 242, 260), (0, _FOREVER)),
    },
}  # fmt: skip
_FUTEX = {"x86_64": 202, "aarch64": 98}
_OF_THIS = platform.machine()
_ENDED = ["-1", "0x0", "0x0"]  # what the kernel says of a program that has ended, until its parent hears of it


class _Busy(Exception):
    """Somebody runs, or will soon."""


class _Unknown(Exception):
    """The kernel does not say it here, or it would take too long to ask."""


class Programs:
    """Programs that draw on a display, and all that they have started."""

    def __init__(self, inside: Inside, server: int, clients: Callable[[], frozenset[int]]) -> None:
        """`clients`: asks the server, a process inside, for the others that are connected to it."""
        self._inside, self._server, self._ask = inside, server, clients
        self._clients = frozenset((server,))

    def at_rest(self, within_s: float) -> bool | None:
        """Whether all wait, and no client for a moment that comes within `within_s`. None: that cannot be known.

        Programs are looked at one after the other, so one could have handed its work to one that was looked at before.
        Two looks tell: none of them has run from the end of the first to the beginning of the second, but for the
        server, which was asked who its clients are. It has answered then whatever it was sent before.
        """
        try:
            first = self._look(within_s)
            clients = self._ask()
            if clients != self._clients:
                self._clients = clients
                return False
            return first == self._look(within_s)
        except _Busy:
            return False
        except (_Unknown, OSError, ValueError, IndexError):
            return None

    def _look(self, within_s: float) -> list[tuple[str, str]]:
        """The number of times that each thread but the server's has run. Raises _Busy, _Unknown."""
        if _OF_THIS not in _WAITS:
            raise _Unknown
        found: list[tuple[str, str]] = []
        waiting = [(str(process), within_s) for process in self._clients]
        seen = {process for process, _ in waiting}
        while waiting:
            process, within_s = waiting.pop()
            children = self._process(process, within_s, found)
            for child in children:
                if child not in seen:  # what a client starts may sleep for as long as it likes: it does not draw
                    seen.add(child)
                    waiting.append((child, 0.0))
            if len(seen) > MOST_PROGRAMS:
                raise _Unknown
        return found

    def _process(self, process: str, within_s: float, found: list[tuple[str, str]]) -> list[str]:
        """Finds the children of a process."""
        children: list[str] = []
        try:
            folder = self._inside.folder(f"/proc/{process}/task")
        except FileNotFoundError:  # it has ended
            self._clients -= {int(process)}
            raise _Busy from None
        try:
            threads = os.listdir(folder)
            if len(threads) > MOST_THREADS:
                raise _Unknown
            for thread in threads:
                call = _read(folder, f"{thread}/syscall")
                if self._soon(process, call, within_s, is_main=thread == process):
                    raise _Busy
                if process != str(self._server):
                    found.append((thread, _read(folder, f"{thread}/schedstat")))
                children += _read(folder, f"{thread}/children").split()
        except (FileNotFoundError, ProcessLookupError):
            raise _Busy from None
        finally:
            os.close(folder)
        return children

    def _soon(self, process: str, call: str, within_s: float, *, is_main: bool) -> bool:
        """Whether a thread runs, or waits for a moment within a time. `call`: as the kernel writes it."""
        words = call.split()
        if words == _ENDED:
            return False
        if words[0] == "running" or (number := int(words[0])) not in _WAITS[_OF_THIS]:
            return True
        if not within_s:
            return False
        argument, unit = _WAITS[_OF_THIS][number]
        if number == _FUTEX[_OF_THIS]:
            if is_main and int(words[4], 16):  # until a moment that only it knows
                raise _Unknown
            return False
        value = int(words[1 + argument], 16)
        if unit is _MS:
            value &= 0xFFFFFFFF
            return value < 1 << 31 and value / 1000 < within_s
        if isinstance(unit, float) and value:
            seconds, parts = self._pair(process, value)
            return seconds + parts * unit < within_s
        return False

    def _pair(self, process: str, address: int) -> tuple[int, int]:
        """Two numbers of a program's memory."""
        memory = self._inside.open(f"/proc/{process}/mem")
        try:
            return _PAIR.unpack(os.pread(memory, _PAIR.size, address))
        except struct.error as error:
            raise _Unknown from error
        finally:
            os.close(memory)


def _read(folder: int, name: str) -> str:
    file = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
    try:
        return os.read(file, 4096).decode()
    finally:
        os.close(file)
