"""The processes and files of one sandbox run, and the certainty that none of them stays.

Every process that the run starts carries its token in the environment, and every temporary file lies below its folder.
A reaper (reaper.py, in a session of its own) holds the read end of a pipe whose write end only this process has: when
that end closes, by close(), by exit or by kill -9, it kills what still carries the token and removes the folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator
from pathlib import Path

from tars_jax.sandbox.browser.reaper import VARIABLE, kill_marked, marked_processes

__all__ = ["VARIABLE", "SandboxRun", "activity", "is_alive"]
LONGEST_FOLDER = 60
ENVIRONMENT_LOCK = threading.Lock()
REAPER = Path(__file__).with_name("reaper.py")


class SandboxRun:
    """The token, the temporary folder and the reaper of one manager."""

    def __init__(self) -> None:
        self.token = f"tars_jax-{os.getpid()}-{secrets.token_hex(6)}"
        folder = tempfile.gettempdir()
        if len(folder) > LONGEST_FOLDER:  # the path of a socket has at most 107 characters
            folder = "/tmp"
        self.folder = Path(tempfile.mkdtemp(prefix="tars_jax-", dir=folder))
        # not the mark of another run that is starting
        environment = {name: value for name, value in os.environ.items() if name not in (VARIABLE, "TMPDIR")}
        self._reaper = subprocess.Popen(
            [sys.executable, "-I", "-S", REAPER, self.token, self.folder, str(os.getpid()), str(os.getpgrp())],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, cwd="/", env=environment,
        )  # fmt: skip

    @property
    def reaper_pid(self) -> int:
        return self._reaper.pid

    @contextlib.asynccontextmanager
    async def environment(self) -> AsyncIterator[None]:
        """While it is open, new processes inherit the token and the temporary folder. One run at a time may have it."""
        while not ENVIRONMENT_LOCK.acquire(blocking=False):  # the holder may be in another thread or in this loop
            await asyncio.sleep(0.01)
        values = {VARIABLE: self.token, "TMPDIR": str(self.folder)}
        before = {name: os.environ.get(name) for name in values}
        os.environ.update(values)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
            ENVIRONMENT_LOCK.release()

    def kill(self, token: str) -> None:
        """Ends the processes that carry `token`, a part of this run."""
        kill_marked(token, os.getpgrp())

    def child(self) -> int | None:
        """The process id of this process's own living child with the token (the Playwright driver), or None."""
        return next((pid for pid in marked_processes(self.token) if _stat(pid)[1] == str(os.getpid())), None)

    def finish(self, timeout_s: float = 10.0) -> None:
        """Kills what is left and removes the folder; returns when that is done."""
        assert self._reaper.stdin is not None
        self._reaper.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._reaper.wait(timeout_s)


def is_alive(pid: int) -> bool:
    """Whether the process runs: it is there and not a zombie."""
    return _stat(pid)[0] not in ("", "Z", "X")


def activity(pid: int) -> tuple[str, str]:
    """(state, ticks of processor time) of a process: one that is asked for something and waits shows no work."""
    state, _, ticks = _fields(pid)
    return state, ticks


def _stat(pid: int) -> tuple[str, str]:
    """(state, parent's id) of a process, empty texts when it is gone."""
    return _fields(pid)[:2]


def _fields(pid: int) -> tuple[str, str, str]:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "", "", ""
    fields = text.rpartition(")")[2].split()
    return fields[0], fields[1], f"{fields[11]} {fields[12]}"
