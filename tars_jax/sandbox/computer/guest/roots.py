"""Paths below a root, which no link and no `..` leads out of.

A call names its root: "/", where a container's own root closes it in, or a folder. The kernel sees to the rest
(openat2, RESOLVE_BENEATH); where it does not know how, links on the way are refused.
"""

from __future__ import annotations

import ctypes
import errno
import os
import posixpath
import struct

from tars_jax.sandbox.computer.guest.calls import CallError, encodable
from tars_jax.sandbox.computer.guest.identity import LIBC

OPENAT2 = 437  # the same number on every processor
NO_MAGICLINKS, NO_SYMLINKS, BENEATH, IN_ROOT = 0x02, 0x04, 0x08, 0x10


def parts(root: str, path: str) -> bytes:
    """A path, absolute or relative to the root, as relative to it. Raises CallError for one that is elsewhere."""
    if not root.startswith("/"):
        raise CallError("input", f"root must be an absolute path; got {root!r}")
    root = posixpath.normpath(root)
    if path.startswith("/") and root != "/":
        if path != root and not path.startswith(root + "/"):
            raise CallError("input", f"path must be below {root}; got {path!r}")
        path = path[len(root) :]
    return encodable(path).lstrip(b"/") or b"."


def open_below(root: str, path: str, flags: int, mode: int = 0) -> int:
    """A descriptor. Raises OSError, CallError for a path that is elsewhere."""
    relative = parts(root, path)
    flags |= os.O_CLOEXEC | (0 if flags & os.O_PATH else os.O_NOCTTY)  # openat2 takes no flag that means nothing
    if posixpath.normpath(root) == "/":
        return os.open(b"/" + relative, flags, mode)
    folder = os.open(encodable(root), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return openat2(folder, relative, flags, mode, BENEATH | NO_MAGICLINKS)
    except OSError as error:
        if error.errno == errno.EXDEV:
            raise CallError("input", f"path must be below {root}; got {path!r}") from error
        if error.errno != errno.ENOSYS:
            raise
        return _open_without_links(folder, relative, flags, mode)
    finally:
        os.close(folder)


def openat2(folder: int, path: bytes, flags: int, mode: int, resolve: int) -> int:
    """The kernel's call; `resolve`: how it goes along the path. Raises OSError."""
    how = struct.pack("QQQ", flags, mode if flags & os.O_CREAT else 0, resolve)
    for _ in range(100):
        descriptor = LIBC.syscall(OPENAT2, folder, ctypes.c_char_p(path), how, ctypes.c_size_t(len(how)))
        if descriptor >= 0:
            return descriptor
        if ctypes.get_errno() != errno.EAGAIN:  # somebody renames folders on the way
            break
    number = ctypes.get_errno()
    raise OSError(number, os.strerror(number), path)


def _open_without_links(folder: int, path: bytes, flags: int, mode: int) -> int:
    names = [name for name in path.split(b"/") if name not in (b"", b".")]
    if b".." in names:
        raise OSError(errno.EACCES, "a path may not go up here")
    at = os.dup(folder)
    try:
        for name in names[:-1]:
            below = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
            os.close(at)
            at = below
        return os.open(names[-1] if names else b".", flags | os.O_NOFOLLOW, mode, dir_fd=at)
    finally:
        os.close(at)


def open_parent(root: str, path: str) -> tuple[int, bytes]:
    """The folder that a file is in, and the file's name there, for what is done to the name and not to the file."""
    folder, _, name = path.rstrip("/").rpartition("/")
    if name in ("", ".", ".."):
        raise CallError("input", f"path must name a file or folder below {root}; got {path!r}")
    if path.startswith("/") and not folder:
        folder = "/"
    return open_below(root, folder or ".", os.O_PATH | os.O_DIRECTORY), encodable(name)
