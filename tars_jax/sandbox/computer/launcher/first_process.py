"""From a fork of the launcher to the first process of a container: what each kind of container begins with."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
from collections.abc import Sequence
from typing import Any

from tars_jax.sandbox.computer.launcher import syscalls
from tars_jax.sandbox.computer.launcher.filesystem import enter_root, listen_inside
from tars_jax.sandbox.computer.launcher.privileges import become_contained_root, drop_privileges, set_resource_limits

LOG_BYTES = 1 << 16  # of a log that are there although the disk is full: what fills it is told there
READY = b"ready "


def become(plan: dict[str, Any], report: int, permission: int) -> None:
    """The first process of the container, from its clone to its program. Returns only by exceptions."""
    join(plan)
    syscalls.unshare(syscalls.CLONE_NEWCGROUP)
    disk = enter_root(plan)
    socket.sethostname(plan["hostname"])
    syscalls.set_loopback_up()
    if plan["root"]:
        open_ports()
    set_resource_limits(plan["rlimits"])
    os.umask(0o022)
    listener = listen_inside(plan["listen"]) if plan["listen"] else None
    (become_contained_root if plan["root"] else drop_privileges)(plan["user"])
    os.write(report, READY + str(disk).encode())
    if os.read(permission, 1) == b"":  # the launcher died before its death was to be this process's
        os._exit(1)
    log = os.open(plan["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    reserve(log)
    null = os.open("/dev/null", os.O_RDONLY)
    kept = [null, log, log, *([listener.fileno()] if listener else [])]
    keep(kept, report)
    os.chdir(plan["cwd"])
    os.execvpe(plan["argv"][0], plan["argv"], plan["environment"])


def become_command(plan: dict[str, Any], report: int, permission: int) -> None:
    """A program that makes the container by itself (bubblewrap.py), with its files as descriptors from 3 on.

    The last of them is the permission: the program waits for a byte on it. Returns only by exceptions.
    """
    join(plan)
    set_resource_limits(plan["rlimits"])
    kept = [os.open("/dev/null", os.O_RDONLY)]
    for path, flags in ((plan["log"], os.O_APPEND), (plan["log"], os.O_APPEND), (plan["status"], 0)):
        kept.append(os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o600))
    kept += [os.open(plan["filter"], os.O_RDONLY), permission]
    if plan["listen"]:
        kept.append(listen_inside(plan["listen"]).detach())
    keep(kept, report)
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    os.execv(plan["command"][0], plan["command"])


def open_ports() -> None:
    """All ports of the container's own network can be listened at, as its root expects."""
    with contextlib.suppress(OSError), open("/proc/sys/net/ipv4/ip_unprivileged_port_start", "w") as file:
        file.write("0")


def join(plan: dict[str, Any]) -> None:
    """Enters the control groups of a plan, in a session of its own."""
    os.setsid()
    for path in plan["cgroups"]:
        with open(path, "w") as file:
            file.write("0")


def reserve(log: int) -> None:
    """Room for a log, where its file system can."""
    with contextlib.suppress(OSError):
        syscalls.reserve(log, LOG_BYTES)


def keep(descriptors: Sequence[int], report: int) -> None:
    """Makes these descriptors 0, 1, ... of the program that follows, which has no other but `report`, and no handlers
    of signals."""
    kept = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 100) for descriptor in descriptors]  # out of the way
    for number, descriptor in enumerate(kept):
        os.dup2(descriptor, number)
    os.closerange(len(kept), report)
    os.closerange(report + 1, 1 << 16)
    for number in range(1, signal.NSIG):
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
