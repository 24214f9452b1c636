"""From root to an ordinary user who can never become more, and who may have so many pseudo-terminals, of the 4,096 that
a machine has for all (kernel.pty.max)."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import signal

from tars_jax.sandbox.computer.launcher import syscalls
from tars_jax.sandbox.computer.launcher.seccomp import seccomp_filter
from tars_jax.sandbox.computer.launcher.syscalls import MS_NOEXEC, MS_NOSUID, MS_REMOUNT

# chown, dac_override, dac_read_search, fowner, fsetid, kill: over the files and processes of one user. Not sys_ptrace,
# by which the guest could be read.
_KEPT = frozenset((0, 1, 2, 3, 4, 5))
TERMINALS = 256
OPTIONS = f"ptmxmode=0666,mode=620,max={TERMINALS}"
_NS_GET_USERNS = 0xB701


def drop_privileges(user: int) -> None:
    """Makes this process and its children `user`, user and group, without a capability, and no program gives them
    one."""
    for capability in range(64):
        with contextlib.suppress(OSError):  # beyond the last one that this kernel knows
            syscalls.prctl(syscalls.PR_CAPBSET_DROP, capability)
    with contextlib.suppress(OSError):
        syscalls.prctl(syscalls.PR_CAP_AMBIENT, 4)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)  # permitted and effective capabilities go with root
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    if program := seccomp_filter():
        syscalls.set_seccomp_filter(program)
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)  # last: a change of user clears it


def become_contained_root(user: int) -> None:
    """Makes this process and its children root of a new user namespace, which is `user` and nobody else outside.

    Root's powers hold for files of that user alone: the other namespaces of the container belong to the one above. What
    needs a second user (chown, setuid) is told to have been done, as in a container that has one user there is nothing
    to do: installers go on.
    """
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # else its files in /proc belong to root above
    for file, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {user} 1")):
        with open(f"/proc/self/{file}", "w") as opened:
            opened.write(text)
    for capability in range(64):
        if capability not in _KEPT:
            with contextlib.suppress(OSError):
                syscalls.prctl(syscalls.PR_CAPBSET_DROP, capability)
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    if program := seccomp_filter(one_user=True):
        syscalls.set_seccomp_filter(program)
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)


def set_resource_limits(limits: dict[str, int]) -> None:
    """Soft and hard limits by name, such as {"RLIMIT_CORE": 0}; no higher than what this process may have."""
    for name, value in limits.items():
        number = getattr(resource, name)
        hard = resource.getrlimit(number)[1]
        if hard != resource.RLIM_INFINITY:  # to raise it is not for every root
            value = min(value, hard)
        resource.setrlimit(number, (value, value))


def bound_terminals(pid: int) -> None:
    """Bounds the terminals of the container of `pid`, which somebody else has mounted: bubblewrap cannot be told. The
    launcher's log says where that cannot be, such as with a bubblewrap that is set-user-ID."""
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
