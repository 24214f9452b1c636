"""Ends every process of a sandbox run when the process that owned the run is gone.

    python -I -S reaper.py TOKEN FOLDER OWNER GROUP     (standard input: a pipe that only the owner holds open)

Waits until the pipe closes or OWNER is no longer its parent (a forked sibling may hold the pipe too), kills each
process whose environment carries the token, together with its process group unless that is GROUP, the owner's own, and
removes the run's folder. Runs as a script without the package.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import time

VARIABLE = "TARS_JAX_SANDBOX"
POLL_S = 0.5
PATIENCE_S = 8.0


def marked_processes(token: str) -> list[int]:
    """Ids of the processes whose environment has VARIABLE equal to `token` or below it ("token.suffix")."""
    exact, below = f"{VARIABLE}={token}\0".encode(), f"{VARIABLE}={token}.".encode()
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    environment = b"\0" + file.read() + b"\0"
            except OSError:
                continue
            if b"\0" + exact in environment or b"\0" + below in environment:
                found.append(int(name))
    return found


def kill_marked(token: str, spared_group: int) -> list[int]:
    """Kills the marked processes and their groups (Chromium's helpers lose the mark); returns which were marked."""
    found = marked_processes(token)
    for pid in found:
        try:
            group = os.getpgid(pid)
            os.kill(pid, signal.SIGKILL)
            if group not in (spared_group, os.getpgrp()):
                os.killpg(group, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    return found


def end_run(token: str, folder: str, spared_group: int) -> int:
    """Kills what is marked until nothing is, and removes the folder; returns how many processes were marked.

    Returns when all are gone, or after `PATIENCE_S`.
    """
    until = time.monotonic() + PATIENCE_S
    ended: set[int] = set()
    quiet = 0
    while quiet < 2 and time.monotonic() < until:
        found = kill_marked(token, spared_group)
        ended.update(found)
        quiet = 0 if found else quiet + 1
        time.sleep(0.05)
    absent = 0
    while absent < 2 and time.monotonic() < until:  # a process in the middle of its end may make a file once more
        shutil.rmtree(folder, ignore_errors=True)
        absent = 0 if os.path.exists(folder) else absent + 1
        time.sleep(0.05)
    return len(ended)


def wait_for_owner(owner: int) -> None:
    """Returns when standard input is closed or the owner is no longer the parent."""
    while os.getppid() == owner:
        ready, _, _ = select.select([0], [], [], POLL_S)
        if ready and not os.read(0, 4096):
            return


def main(token: str, folder: str, owner: int, group: int) -> None:
    wait_for_owner(owner)
    end_run(token, folder, group)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
