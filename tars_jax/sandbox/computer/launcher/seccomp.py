"""The system calls that nobody in a container may make, as a filter of the kernel (seccomp, classic BPF).

A deny-list, not an allow-list: programs of agents are of every kind, and root's powers are gone anyway. What is here
reaches past namespaces (keys, modules, kexec, clocks), makes new ones, or is where kernels had their holes (bpf,
io_uring, userfaultfd). ptrace is allowed: a debugger sees the processes of its own container alone. A process sets its
own limits and its own turn on the processors, and no other's: the guest has the same user, and would end with a limit
of memory, or answer nobody with the lowest of priorities. A thread names itself by a number that a filter does not
know, and ZeroMQ ends where that is refused: the ordinary policy may be set of any.
"""

from __future__ import annotations

import platform
import struct

_X86_64 = {
    "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "unshare": 272, "setns": 308, "init_module": 175,
    "finit_module": 313, "delete_module": 176, "kexec_load": 246, "kexec_file_load": 320, "bpf": 321,
    "perf_event_open": 298, "keyctl": 250, "add_key": 248, "request_key": 249, "userfaultfd": 323,
    "open_by_handle_at": 304, "swapon": 167, "swapoff": 168, "reboot": 169, "acct": 163, "quotactl": 179,
    "settimeofday": 164, "clock_settime": 227, "clock_adjtime": 305, "syslog": 103, "fanotify_init": 300,
    "iopl": 172, "ioperm": 173,
}  # fmt: skip
_AARCH64 = {
    "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "unshare": 97, "setns": 268, "init_module": 105,
    "finit_module": 273, "delete_module": 106, "kexec_load": 104, "kexec_file_load": 294, "bpf": 280,
    "perf_event_open": 241, "keyctl": 219, "add_key": 217, "request_key": 218, "userfaultfd": 282,
    "open_by_handle_at": 265, "swapon": 224, "swapoff": 225, "reboot": 142, "acct": 89, "quotactl": 60,
    "settimeofday": 170, "clock_settime": 112, "clock_adjtime": 266, "syslog": 116, "fanotify_init": 262,
}  # fmt: skip
_EVERYWHERE = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "mount_setattr": 442, "quotactl_fd": 443,
}  # fmt: skip
# What one user has no use for: it is told to have been done.
_OF_USERS = {
    "x86_64": {
        "chown": 92, "fchown": 93, "lchown": 94, "fchownat": 260, "setuid": 105, "setgid": 106, "setgroups": 116,
        "setreuid": 113, "setregid": 114, "setresuid": 117, "setresgid": 119, "capset": 126,
    },
    "aarch64": {
        "fchown": 55, "fchownat": 54, "setuid": 146, "setgid": 144, "setgroups": 159, "setreuid": 145,
        "setregid": 143, "setresuid": 147, "setresgid": 149, "capset": 91,
    },
}  # fmt: skip
_CLONE3 = 435
# Of one process, by its number; and those of a kind: a process, a group, or all of a user, which has this number.
_SCHEDULING = {
    "x86_64": {"sched_setscheduler": 144, "sched_setattr": 314},
    "aarch64": {"sched_setscheduler": 119, "sched_setattr": 274},
}
_PRIORITIES = {
    "x86_64": {"setpriority": (141, 2), "ioprio_set": (251, 3)},
    "aarch64": {"setpriority": (140, 2), "ioprio_set": (30, 3)},
}
# The architecture's mark in the filter's input, its calls, and the numbers of clone, socket and prlimit64.
_ARCHITECTURES = {"x86_64": (0xC000003E, _X86_64, 56, 41, 302), "aarch64": (0xC00000B7, _AARCH64, 220, 198, 261)}
_NEW_NAMESPACES = 0x7E020000  # the flags CLONE_NEW* of clone
# Others reach past the network namespace (AF_VSOCK: the machine below this one) or are seldom looked at.
_FAMILIES = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
# Offsets in struct seccomp_data, little-endian.
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT, _THIRD_ARGUMENT = 0, 4, 16, 24, 32


def _do(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def seccomp_filter(*, one_user: bool = False) -> bytes:
    """The program for this machine's architecture; empty for one that is not known here.

    `one_user`: calls that give a file or a process to another user do nothing, and say that all went well.
    """
    if platform.machine() not in _ARCHITECTURES:
        return b""
    mark, calls, clone, socket, limits = _ARCHITECTURES[platform.machine()]
    program = [
        _do(_LOAD, _ARCHITECTURE),
        _do(_EQUAL, mark, 1, 0),
        _do(_RETURN, _KILL),  # 32-bit calls have other numbers
        _do(_LOAD, _NUMBER),
        _do(_AT_LEAST, 0x40000000, 0, 1),
        _do(_RETURN, _ERRNO | _ENOSYS),  # and so have those of x32
    ]
    for number in sorted({**calls, **_EVERYWHERE}.values()):
        program += [_do(_EQUAL, number, 0, 1), _do(_RETURN, _ERRNO | _EPERM)]
    for number in sorted(_OF_USERS[platform.machine()].values()) if one_user else ():
        program += [_do(_EQUAL, number, 0, 1), _do(_RETURN, _ERRNO)]
    # clone3 hides its flags from filters; the C library then falls back to clone.
    program += [_do(_EQUAL, _CLONE3, 0, 1), _do(_RETURN, _ERRNO | _ENOSYS)]
    program += [
        _do(_EQUAL, clone, 0, 4),
        _do(_LOAD, _FIRST_ARGUMENT),
        _do(_ANY_BIT, _NEW_NAMESPACES, 0, 1),
        _do(_RETURN, _ERRNO | _EPERM),
        _do(_RETURN, _ALLOW),
    ]
    # prlimit64 of this process (0), or one that asks and sets nothing (no new limits).
    program += [_do(_EQUAL, limits, 0, 8), _do(_LOAD, _FIRST_ARGUMENT), _do(_EQUAL, 0, 4, 0)]
    program += [_do(_LOAD, _THIRD_ARGUMENT), _do(_EQUAL, 0, 0, 3), _do(_LOAD, _THIRD_ARGUMENT + 4)]
    program += [_do(_EQUAL, 0, 0, 1), _do(_RETURN, _ALLOW), _do(_RETURN, _ERRNO | _EPERM)]
    scheduling = _SCHEDULING[platform.machine()]
    program += [_do(_EQUAL, scheduling["sched_setattr"], 0, 4), _do(_LOAD, _FIRST_ARGUMENT), _do(_EQUAL, 0, 0, 1)]
    program += [_do(_RETURN, _ALLOW), _do(_RETURN, _ERRNO | _EPERM)]
    # Of this process, or with the ordinary policy (0).
    program += [_do(_EQUAL, scheduling["sched_setscheduler"], 0, 6), _do(_LOAD, _FIRST_ARGUMENT), _do(_EQUAL, 0, 2, 0)]
    program += [_do(_LOAD, _SECOND_ARGUMENT), _do(_EQUAL, 0, 0, 1), _do(_RETURN, _ALLOW)]
    program += [_do(_RETURN, _ERRNO | _EPERM)]
    for number, of_a_user in _PRIORITIES[platform.machine()].values():
        program += [_do(_EQUAL, number, 0, 6), _do(_LOAD, _FIRST_ARGUMENT), _do(_EQUAL, of_a_user, 3, 0)]
        program += [_do(_LOAD, _SECOND_ARGUMENT), _do(_EQUAL, 0, 0, 1)]
        program += [_do(_RETURN, _ALLOW), _do(_RETURN, _ERRNO | _EPERM)]
    program += [_do(_EQUAL, socket, 0, len(_FAMILIES) + 2), _do(_LOAD, _FIRST_ARGUMENT)]
    program += [_do(_EQUAL, family, len(_FAMILIES) - at, 0) for at, family in enumerate(_FAMILIES)]
    program += [_do(_RETURN, _ERRNO | _EAFNOSUPPORT), _do(_RETURN, _ALLOW)]
    return b"".join(program)
