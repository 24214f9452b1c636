"""The process that becomes gVisor's runsc, which starts the sandbox and stays for as long as that lives."""

from __future__ import annotations

import os
import signal
from typing import Any

from tars_jax.sandbox.computer.launcher import syscalls
from tars_jax.sandbox.computer.launcher.filesystem import prepare_gvisor
from tars_jax.sandbox.computer.launcher.first_process import READY, join, keep, reserve


def become_gvisor(plan: dict[str, Any], report: int, permission: int) -> None:
    """Becomes runsc after the fork (../gvisor.py writes the plan). Returns only by exceptions.

    runsc has its sandbox killed when it ends itself, however that comes.
    """
    join(plan)
    syscalls.unshare(syscalls.CLONE_NEWNS)
    syscalls.mount("", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
    disk = prepare_gvisor(plan)
    log = os.open(f"{plan['folder']}/root{plan['log']}", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o644)
    os.fchown(log, plan["user"], plan["user"])
    os.write(report, READY + str(disk).encode())
    if os.read(permission, 1) == b"":  # the launcher died
        os._exit(1)
    reserve(log)
    keep([os.open("/dev/null", os.O_RDONLY), log, log], report)
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    os.execve(plan["command"][0], plan["command"], {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
