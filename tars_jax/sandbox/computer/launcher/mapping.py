"""Mounts that show the files of one user as another's: what lies on a disk belongs to the same user in all of them."""

from __future__ import annotations

import os
import signal

from tars_jax.sandbox.computer.launcher import syscalls

_ORDINARY = 1 << 16  # users below are shown as they are


def show_as(source: str, place: str, user: int) -> None:
    """Mounts a folder once more, in which what belongs to root is shown as the user's own. Raises OSError."""
    os.makedirs(place, exist_ok=True)
    namespace = mapping(0, user)
    try:
        tree = syscalls.open_tree(source)
        try:
            syscalls.set_mount_mapping(tree, namespace)
            syscalls.move_mount(tree, place)
        finally:
            os.close(tree)
    finally:
        os.close(namespace)


def mapping(on_disk: int, shown: int) -> int:
    """The descriptor of a user namespace in which `on_disk`, below 65536, is `shown`, from there on. Raises OSError."""
    own, hers = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            name = os.readlink("/proc/self")  # by which /proc knows it, whatever process namespace this is
            syscalls.unshare(syscalls.CLONE_NEWUSER)
            os.write(hers, name.encode())
            signal.pause()
        finally:
            os._exit(1)
    os.close(hers)
    try:
        if not (name := os.read(own, 32).decode()):
            raise OSError("user namespaces cannot be made")
        lines = f"{on_disk} {shown} 1\n{on_disk + 1} {on_disk + 1} {_ORDINARY - on_disk - 1}\n"
        if on_disk:
            lines = f"0 0 {on_disk}\n{lines}"
        for file in ("uid_map", "gid_map"):
            with open(f"/proc/{name}/{file}", "w") as opened:
                opened.write(lines)
        return os.open(f"/proc/{name}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(own)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def map_mount(place: str, namespace: int) -> None:
    """Makes a mount show its files by a mapping of users from then on. Raises OSError."""
    tree = syscalls.open_tree(place)
    try:
        syscalls.unmount(place)
        syscalls.set_mount_mapping(tree, namespace)
        syscalls.move_mount(tree, place)
    finally:
        os.close(tree)
