"""Runs inside a container and tries to get out. Says for each attempt, a line each, what came of it.

attempts.py PORT ABSTRACT PID FOLDER     (of the host: a listening port, a socket's name, a process, a session)
"""

import ctypes
import errno
import os
import resource
import socket
import sys
from typing import Any

libc = ctypes.CDLL(None, use_errno=True)
X86 = os.uname().machine == "x86_64"


def call(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def dial(family: int, address: Any) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.settimeout(2)
        one.connect(address)


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(64)


def write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def look_for(pid: int) -> bool:
    """Whether a process of the host has a place here."""
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return b"pytest" in file.read()


port, abstract, pid, folder = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
NEW_USER, NEW_NETWORK = 0x10000000, 0x40000000
ATTEMPTS: dict[str, Any] = {
    "mount a tmpfs": lambda: call(libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None)),
    "remount the system writable": lambda: call(libc.mount(None, b"/usr", None, 32 | 4096, None)),
    "unmount the system": lambda: call(libc.umount2(b"/usr", 2)),
    "open the new mount API": lambda: call(libc.syscall(430, b"tmpfs", 0)),
    "unshare a user namespace": lambda: call(libc.unshare(NEW_USER)),
    "clone into a user namespace": lambda: call(libc.syscall(56 if X86 else 220, NEW_USER | 17, 0, 0, 0, 0)),
    "enter another namespace": lambda: call(libc.setns(os.open("/proc/1/ns/net", os.O_RDONLY), NEW_NETWORK)),
    "chroot": lambda: os.chroot("/tmp"),
    "become root": lambda: os.setuid(0),
    "make a disk device": lambda: os.mknod("/tmp/disk", 0o60600, os.makedev(254, 0)),
    "open the disk": lambda: read("/dev/vda"),
    "open the memory": lambda: read("/dev/mem"),
    "load a module": lambda: call(libc.syscall(313 if X86 else 273, 0, b"", 0)),
    "load a BPF program": lambda: call(libc.syscall(321 if X86 else 280, 5, b"\0" * 64, 64)),
    "use a key ring": lambda: call(libc.syscall(250 if X86 else 219, 0, -3, 1)),
    "open an io_uring": lambda: call(libc.syscall(425, 8, b"\0" * 120)),
    "catch page faults": lambda: call(libc.syscall(323 if X86 else 282, 0)),
    "open by handle": lambda: call(libc.open_by_handle_at(3, b"\0" * 32, 0)),
    "set the clock": lambda: call(libc.syscall(227 if X86 else 112, 0, b"\0" * 16)),
    "read the kernel's log": lambda: call(libc.syscall(103 if X86 else 116, 3, b"\0" * 64, 64)),
    "set the core pattern": lambda: write("/proc/sys/kernel/core_pattern", "|/tmp/x"),
    "press SysRq": lambda: write("/proc/sysrq-trigger", "m"),
    "raise the limit of processes": lambda: write("/sys/fs/cgroup/pids/pids.max", "max"),
    "open a raw socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
    "open a packet socket": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW),
    "reach the machine below by vsock": lambda: dial(40, (2, 1024)),
    "reach a port of the host": lambda: dial(socket.AF_INET, ("127.0.0.1", port)),
    "reach the network": lambda: dial(socket.AF_INET, ("10.0.0.1", 80)),
    "reach the cloud's metadata": lambda: dial(socket.AF_INET, ("169.254.169.254", 80)),
    "reach an abstract socket of the host": lambda: dial(socket.AF_UNIX, "\0" + abstract),
    "signal a process of the host": lambda: os.kill(pid, 0),
    "trace a process of the host": lambda: call(libc.ptrace(16, pid, None, None)),
    "find a process of the host": lambda: look_for(pid),
    "read another session's files": lambda: os.listdir(folder),
    "read them through the first process": lambda: os.listdir(f"/proc/1/root{folder}"),
    "read the host's passwords": lambda: read("/etc/shadow"),
    "read root's home": lambda: read("/root/.bashrc"),
    "read another's control groups": lambda: os.listdir("/sys/fs/cgroup"),
    "write a program of the system": lambda: write("/usr/bin/env", "x"),
    "limit the first process": lambda: resource.prlimit(1, resource.RLIMIT_AS, (1 << 20, 1 << 20)),
    "write a setting": lambda: write("/etc/passwd", "x"),
}

for name, attempt in ATTEMPTS.items():
    try:
        print(f"{name}: worked, {attempt()!r}", flush=True)
    except OSError as error:
        print(f"{name}: {errno.errorcode.get(error.errno or 0, error)}", flush=True)
