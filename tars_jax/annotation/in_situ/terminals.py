"""Passwords in terminals: a program that asks for one turns its terminal's echo off and still reads whole lines.

Shells and editors, which draw what is typed themselves, read single characters, so the two are told apart. Seen for
programs of this machine alone, not through ssh and not inside of tmux or screen.
"""

from __future__ import annotations

import contextlib
import os
import termios
import time
from pathlib import Path

MOST = 200  # processes below a terminal's that are looked at
LOOK_S = 1.0  # between two looks for terminals below a program
LOCAL_FLAGS = 3  # of what `tcgetattr` gives


class WatchedTerminals:
    def __init__(self) -> None:
        self._known: dict[int, tuple[float, frozenset[str]]] = {}  # process -> when it was looked at, its terminals

    def hide(self, process: int) -> bool:
        """Whether a terminal below a process waits for a line that it does not show."""
        looked, terminals = self._known.get(process, (0.0, frozenset[str]()))
        if process and time.monotonic() - looked > LOOK_S:
            terminals = _terminals_below(process)
            self._known = {process: (time.monotonic(), terminals)}
        return any(map(_is_hidden, terminals))


def _terminals_below(process: int) -> frozenset[str]:
    found: set[str] = set()
    waiting, seen = [str(process)], 0
    while waiting and seen < MOST:
        each, seen = waiting.pop(), seen + 1
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            for thread in os.listdir(f"/proc/{each}/task"):
                waiting += Path(f"/proc/{each}/task/{thread}/children").read_text().split()
        if each != str(process):
            with contextlib.suppress(OSError):
                target = os.readlink(f"/proc/{each}/fd/0")
                if target.startswith("/dev/pts/"):
                    found.add(target)
    return frozenset(found)


def _is_hidden(terminal: str) -> bool:
    try:
        file = os.open(terminal, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:  # it has closed
        return False
    try:
        flags = termios.tcgetattr(file)[LOCAL_FLAGS]
    except termios.error:
        return False
    finally:
        os.close(file)
    return bool(flags & termios.ICANON and not flags & termios.ECHO)
