"""Whether a password is being typed into the focused window: by AT-SPI, and by a terminal's echo.

AT-SPI is asked by a process of its own (`atspi.py`), since the library's calls wait for whatever program they ask. In a
terminal, a program that asks for a password turns the echo off and still reads whole lines; shells and editors, which
draw what is typed themselves, read single characters. Seen for programs of this machine alone, not through ssh and not
inside of tmux or screen.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

from tars_jax.annotation.in_situ.privacy import VisibleWindow

CHILD = Path(__file__).with_name("atspi.py")
MOST = 200  # processes below a terminal's that are looked at
LOOK_S = 1.0  # between two looks for terminals below a program
LOCAL_FLAGS = 3  # of what `tcgetattr` gives


class SecretWatchers:
    """Terminals of this machine, and accessibility where there is any."""

    def __init__(self, accessible: Accessible | None) -> None:
        self._terminals, self._accessible = WatchedTerminals(), accessible

    def is_secret(self, window: VisibleWindow | None) -> bool:
        if window is None:
            return False
        if self._accessible is not None and self._accessible.is_secret:
            return True
        return self._terminals.hide(window.process)

    def tree(self, window: VisibleWindow | None) -> bytes | None:
        return self._accessible.tree(window) if self._accessible is not None else None

    def close(self) -> None:
        if self._accessible is not None:
            self._accessible.close()


class Accessible:
    def __init__(self) -> None:
        self.is_secret = False
        self._trees: dict[int, bytes] = {}  # the last one, by its process, until somebody asks for it
        self._process = subprocess.Popen(
            [sys.executable, str(CHILD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._thread = threading.Thread(target=self._listen, name="accessibility", daemon=True)
        self._thread.start()

    @property
    def is_there(self) -> bool:
        """False once it has ended, as where there is no AT-SPI."""
        return self._process.poll() is None

    def tree(self, window: VisibleWindow | None) -> bytes | None:
        """A tree that has come since the last call and is the window's program's; JSON."""
        return self._trees.pop(window.process, None) if window is not None and window.process else None

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.kill()
        self._process.wait()
        self._thread.join(5)
        self._process.stdin.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                said = json.loads(line)
                if "secret" in said:
                    self.is_secret = said["secret"]
                else:
                    self._trees = {said["process"]: json.dumps(said["tree"], ensure_ascii=False).encode()}
        self.is_secret = False


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
