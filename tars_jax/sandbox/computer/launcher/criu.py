"""The process that becomes CRIU: it writes the processes of a container to files, or brings them back."""

from __future__ import annotations

import fcntl
import os
import signal
from typing import Any

from tars_jax.sandbox.computer.launcher import syscalls
from tars_jax.sandbox.computer.launcher.filesystem import prepare_restore

NETWORK = 3  # the descriptor of the network namespace that restored processes get


def become_criu(plan: dict[str, Any], report: int, permission: int, ready: bytes) -> None:
    """Becomes CRIU's program after the fork (checkpoints.py writes the plan). Returns only by exceptions.

    To restore, the plan is a container's, too: this process makes its root and network, and the restored processes
    stay in its control groups.
    """
    os.setsid()
    for path in plan["cgroups"]:
        with open(path, "w") as file:
            file.write("0")
    syscalls.unshare(syscalls.CLONE_NEWNS)
    syscalls.mount("", "/", "", syscalls.MS_REC | syscalls.MS_PRIVATE)
    syscalls.mount(plan["cache"], "/run", "", syscalls.MS_BIND)  # CRIU keeps there what it knows of the kernel
    kept = [
        os.open("/dev/null", os.O_RDONLY),
        *[os.open(plan["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)] * 2,
    ]
    disk = -1
    if "layers" in plan:
        syscalls.unshare(syscalls.CLONE_NEWNET | syscalls.CLONE_NEWCGROUP)
        syscalls.set_loopback_up()
        disk = prepare_restore(plan)
        kept.append(os.open("/proc/self/ns/net", os.O_RDONLY))
    os.write(report, ready + str(disk).encode())
    if os.read(permission, 1) == b"":  # the launcher died
        os._exit(1)
    kept = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 100) for descriptor in kept]
    for number, descriptor in enumerate(kept):
        os.dup2(descriptor, number)
    os.closerange(len(kept), report)
    os.closerange(report + 1, 1 << 16)
    for number in range(1, signal.NSIG):
        if number not in (signal.SIGKILL, signal.SIGSTOP, 32, 33):
            signal.signal(number, signal.SIG_DFL)
    if plan["as_user"] is not None:
        # Limits of a process can be read by its own user, or with CAP_SYS_RESOURCE, which not every root has.
        os.setresgid(plan["as_user"], 0, 0)
        os.setresuid(plan["as_user"], 0, 0)
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    os.execve(
        plan["command"][0], plan["command"], {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    )
