"""How many pseudo-terminals a container may have, of the 4,096 that a machine has for all (kernel.pty.max)."""

from __future__ import annotations

import fcntl
import os

from tars_jax.sandbox.computer.launcher import syscalls
from tars_jax.sandbox.computer.launcher.syscalls import MS_NOEXEC, MS_NOSUID, MS_REMOUNT

TERMINALS = 256
OPTIONS = f"ptmxmode=0666,mode=620,max={TERMINALS}"
_NS_GET_USERNS = 0xB701


def bound_terminals(pid: int) -> None:
    """In the container of `pid`, which somebody else has mounted: bubblewrap cannot be told. The launcher's log says
    where that cannot be, such as with a bubblewrap that is set-user-ID.
    """
    child = os.fork()
    if child == 0:
        try:
            mounts = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
            syscalls.enter(fcntl.ioctl(mounts, _NS_GET_USERNS))  # whose owner this user is
            syscalls.enter(mounts)
            syscalls.mount("devpts", "/dev/pts", "devpts", MS_REMOUNT | MS_NOSUID | MS_NOEXEC, OPTIONS)
        except OSError as error:
            os.write(2, f"terminals of {pid} have no bound: {error}\n".encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
