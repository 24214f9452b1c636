"""Ends every process of a sandbox run when the process that owned the run is gone.

    python -I -S reaper.py TOKEN FOLDER     (standard input: a pipe that only the owner holds open)

Waits until the pipe closes or the parent changes (a forked sibling may hold the pipe too), kills each process whose
environment carries the token, together with the process group that it leads, and removes the run's folder. Runs as a
script without the package, so it imports the standard library alone.
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


def kill_marked(token: str) -> int:
    """Sends SIGKILL to the marked processes and the groups that they lead; returns how many were found."""
    found = marked_processes(token)
    for pid in found:
        try:
            if os.getpgid(pid) == pid:
                os.killpg(pid, signal.SIGKILL)
            else:
                os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    return len(found)


def wait_for_owner(owner: int) -> None:
    """Returns when standard input is closed or the owner is no longer the parent."""
    while os.getppid() == owner:
        ready, _, _ = select.select([0], [], [], POLL_S)
        if ready and not os.read(0, 4096):
            return


def main(token: str, folder: str) -> None:
    wait_for_owner(os.getppid())
    until = time.monotonic() + PATIENCE_S
    quiet = 0
    while quiet < 2 and time.monotonic() < until:
        quiet = 0 if kill_marked(token) else quiet + 1
        time.sleep(0.05)
    for _ in range(20):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            break
        time.sleep(0.1)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    main(sys.argv[1], sys.argv[2])
