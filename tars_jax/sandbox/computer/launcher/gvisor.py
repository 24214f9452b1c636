"""The process that becomes gVisor's runsc, which starts the sandbox and stays for as long as that lives."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
from typing import Any

from tars_jax.sandbox.computer.launcher import syscalls
from tars_jax.sandbox.computer.launcher.filesystem import prepare_gvisor


def become_gvisor(plan: dict[str, Any], report: int, permission: int, ready: bytes) -> None:
    """From the fork to runsc (../gvisor.py writes the plan). Returns only by exceptions.

    runsc has its sandbox killed when it ends itself, however that comes.
    """
    os.setsid()
    for path in plan["cgroups"]:
        with open(path, "w") as file:
            file.write("0")
    syscalls.unshare(syscalls.CLONE_NEWNS)
    syscalls.mount("", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
    disk = prepare_gvisor(plan)
    log = os.open(f"{plan['folder']}/root{plan['log']}", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o644)
    os.fchown(log, plan["user"], plan["user"])
    os.write(report, ready + str(disk).encode())
    if os.read(permission, 1) == b"":  # the launcher died
        os._exit(1)
    with contextlib.suppress(OSError):  # of file systems that cannot
        syscalls.reserve(log, plan["log_bytes"])
    kept = [os.open("/dev/null", os.O_RDONLY), log, log]
    kept = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 100) for descriptor in kept]  # out of the way of what comes next
    for number, descriptor in enumerate(kept):
        os.dup2(descriptor, number)
    os.closerange(len(kept), report)
    os.closerange(report + 1, 1 << 16)
    for number in range(1, signal.NSIG):
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    os.execve(plan["command"][0], plan["command"], {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
