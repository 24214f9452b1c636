"""Calls of the kernel that Python's standard library has no function for."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import platform
import socket
import struct
from collections.abc import Iterator

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_NOATIME = 1, 2, 4, 8, 1024
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 1, 24, 22, 38, 47
PR_SET_DUMPABLE = 4

# clone and pivot_root have other numbers on each architecture; the newer calls have the same one everywhere.
_NUMBERS = {"x86_64": (56, 155), "aarch64": (220, 41)}
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_OPEN_TREE_CLONE, _MOVE_MOUNT_F_EMPTY_PATH, _AT_EMPTY_PATH, _MOUNT_ATTR_IDMAP = 1, 4, 0x1000, 0x100000
_LOOP_GET_FREE, _LOOP_CONFIGURE, _LOOP_AUTOCLEAR, _LOOP_READ_ONLY = 0x4C82, 0x4C0A, 4, 1
_FALLOC_FL_KEEP_SIZE = 1
_SIOCSIFFLAGS, _IFF_UP_RUNNING = 0x8914, 0x41

_libc = ctypes.PyDLL(None, use_errno=True)  # keeps the lock of the interpreter: a clone must find it held by itself


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def is_known_architecture() -> bool:
    return platform.machine() in _NUMBERS


def clone(flags: int, signal_number: int) -> int:
    """fork into new namespaces: 0 in the child, the child's id in the parent. Raises OSError."""
    number = _NUMBERS[platform.machine()][0]
    # The interpreter takes its locks before a fork, and gives them back on both sides after it: since Python 3.13 a
    # child that would give back what nobody took ends at once.
    ctypes.pythonapi.PyOS_BeforeFork()
    pid = _libc.syscall(number, ctypes.c_ulong(flags | signal_number), 0, 0, 0, 0)
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
        return 0
    failure = ctypes.get_errno()
    ctypes.pythonapi.PyOS_AfterFork_Parent()
    ctypes.set_errno(failure)
    return _checked(pid, "clone")


def unshare(flags: int) -> None:
    _checked(_libc.unshare(flags), "unshare")


def enter(namespace: int) -> None:
    """`namespace`: the descriptor of one of any kind."""
    _checked(_libc.setns(namespace, 0), "setns")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    result = _libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode())
    _checked(result, f"mount {kind or source} at {target}")


def unmount(target: str) -> None:
    _checked(_libc.umount2(target.encode(), MNT_DETACH), f"umount {target}")


def pivot_root(new: str, old: str) -> None:
    _checked(_libc.syscall(_NUMBERS[platform.machine()][1], new.encode(), old.encode()), "pivot_root")


def set_mount_read_only(target: str) -> None:
    """Makes the mount at `target` and all below it read-only, without devices and set-user-id programs."""
    attributes = struct.pack("=4Q", MS_RDONLY | MS_NOSUID | MS_NODEV, 0, 0, 0)
    result = _libc.syscall(_MOUNT_SETATTR, -100, target.encode(), 0x8000, attributes, len(attributes))
    if result < 0 and ctypes.get_errno() == errno.ENOSYS:  # before Linux 5.12; mounts below it stay as they are
        mount("", target, "", MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV)
        return
    _checked(result, f"mount_setattr {target}")


def open_tree(place: str) -> int:
    """The descriptor of another mount of what is mounted at a place; it is nowhere yet. Raises OSError."""
    flags = ctypes.c_uint(_OPEN_TREE_CLONE | os.O_CLOEXEC)
    return _checked(_libc.syscall(_OPEN_TREE, -100, place.encode(), flags), f"open_tree {place}")


def move_mount(tree: int, place: str) -> None:
    flags = ctypes.c_uint(_MOVE_MOUNT_F_EMPTY_PATH)
    _checked(_libc.syscall(_MOVE_MOUNT, tree, b"", -100, place.encode(), flags), f"move_mount {place}")


def set_mount_mapping(tree: int, namespace: int) -> None:
    """The mount, which is nowhere yet, shows users as a user namespace does. Raises OSError."""
    attributes = struct.pack("=4Q", _MOUNT_ATTR_IDMAP, 0, 0, namespace)
    result = _libc.syscall(_MOUNT_SETATTR, tree, b"", _AT_EMPTY_PATH, attributes, len(attributes))
    _checked(result, "mount_setattr with a mapping of users")


def reserve(descriptor: int, size: int) -> None:
    """Takes room on the disk for the beginning of a file, which keeps its length. Raises OSError."""
    offset, length = ctypes.c_long(0), ctypes.c_long(size)
    _checked(_libc.fallocate(descriptor, _FALLOC_FL_KEEP_SIZE, offset, length), "fallocate")


def prctl(option: int, *arguments: int) -> int:
    padded = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    return _checked(_libc.prctl(option, *padded), f"prctl {option}")


def set_seccomp_filter(program: bytes) -> None:
    """Loads a BPF program of 8-byte instructions. Later programs of this process and its children run under it."""
    text = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(text)))
    prctl(PR_SET_SECCOMP, 2, ctypes.addressof(header))


def set_loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP_RUNNING))


@contextlib.contextmanager
def loop_device(image: str, *, read_only: bool = False) -> Iterator[str]:
    """A device that shows an image, such as /dev/loop3. It goes by itself after the block, or when it is unmounted."""
    flags = _LOOP_AUTOCLEAR | (_LOOP_READ_ONLY if read_only else 0)
    mode = "rb" if read_only else "r+b"
    with open(image, mode) as file, open("/dev/loop-control", "r+b", buffering=0) as control:
        # struct loop_config: the file, the block size, and a loop_info64 whose flags are its 14th word of 4 bytes.
        config = struct.pack("=2I52xI176x64x", file.fileno(), 0, flags)
        for _ in range(50):
            path = f"/dev/loop{fcntl.ioctl(control, _LOOP_GET_FREE)}"
            with open(path, mode, buffering=0) as device:
                try:
                    fcntl.ioctl(device, _LOOP_CONFIGURE, config)
                except OSError as error:
                    if error.errno != errno.EBUSY:  # another process took it between the two calls
                        raise
                    continue
                yield path
                return
    raise OSError(errno.EBUSY, "there is no free loop device")
