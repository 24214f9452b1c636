"""From root to an ordinary user who can never become more."""

from __future__ import annotations

import contextlib
import os
import resource
import signal

from tars_jax.sandbox.computer.launcher import syscalls
from tars_jax.sandbox.computer.launcher.seccomp import seccomp_filter


def drop_privileges(user: int) -> None:
    """This process and its children are `user`, user and group, without a capability, and no program gives them one."""
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


def set_resource_limits(limits: dict[str, int]) -> None:
    """Soft and hard limits by name, such as {"RLIMIT_CORE": 0}; no higher than what this process may have."""
    for name, value in limits.items():
        number = getattr(resource, name)
        hard = resource.getrlimit(number)[1]
        if hard != resource.RLIM_INFINITY:  # to raise it is not for every root
            value = min(value, hard)
        resource.setrlimit(number, (value, value))
