"""Copies the files of a folder that an agent has filled, in a process of its own.

    python -I -S copying.py SOURCE TARGET MOST_BYTES      (descriptors of two folders, the second one empty)

By descriptors, folder by folder: no link is followed, whatever is done to the names meanwhile, and paths may be of any
length. What its owner has closed to itself (mode 000) is opened for as long as it is read; the copy of SOURCE itself
stays open to its owner. Sockets and devices, which
belong to programs, are left out, and so are the bits of files that would make a program another user's. Says why it
could not, with status 1 where this machine lacks something, and 2 where the files are such.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import stat
import sys
from collections.abc import Iterator

LONGEST_PATH = 4000  # bytes that one call of the kernel takes
OWN, WHOLE = 0o500, 0o700  # what its owner needs of a folder, to read it and to work there
_CHUNK = 16 << 20
_HOLDS = 60  # descriptors that are not folders under way
LACKING, SUCH = 1, 2  # statuses
_LACKED = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM}


class Copy:
    def __init__(self, source: int, target: int, most_bytes: int, most_deep: int) -> None:
        self._room, self._most, self._deepest = most_bytes, most_bytes, most_deep
        self._top = target
        self._links: dict[tuple[int, int], bytes] = {}  # where files of several names were copied to
        mode = stat.S_IMODE(os.fstat(source).st_mode)
        if mode | OWN != mode:
            os.fchmod(source, mode | OWN)
        self._open = [(source, target, b"", iter(_names(source)), mode)]  # from the top to the folder under way

    def run(self) -> None:
        """Copies the tree. Raises OSError."""
        while self._open:
            source, target, path, names, mode = self._open[-1]
            name = next(names, None)
            if name is None:
                if mode | OWN != mode:
                    os.fchmod(source, mode)
                _like(source, target)
                if not path:  # programs begin there
                    os.fchmod(target, mode | WHOLE)
                os.close(source)
                os.close(target)
                self._open.pop()
            else:
                self._entry(source, target, name, path + b"/" + name if path else name)

    def _entry(self, source: int, target: int, name: bytes, path: bytes) -> None:
        try:
            status = os.stat(name, dir_fd=source, follow_symlinks=False)
        except FileNotFoundError:
            return
        if stat.S_ISDIR(status.st_mode):
            if len(self._open) >= self._deepest:
                raise OSError(f"folders in each other must be at most {self._deepest}; got more")
            os.mkdir(name, 0o700, dir_fd=target)
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
            opened, made = _opened(name, source, flags, status), os.open(name, flags, dir_fd=target)
            mode = stat.S_IMODE(status.st_mode)
            if mode | OWN != mode:  # until all below is copied
                os.fchmod(opened, mode | OWN)
            self._open.append((opened, made, path, iter(_names(opened)), mode))
        elif stat.S_ISLNK(status.st_mode):
            os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
            os.utime(name, ns=(status.st_atime_ns, status.st_mtime_ns), dir_fd=target, follow_symlinks=False)
        elif stat.S_ISFIFO(status.st_mode):
            os.mkfifo(name, stat.S_IMODE(status.st_mode), dir_fd=target)
        elif stat.S_ISREG(status.st_mode):
            self._file(source, target, name, path, status)

    def _file(self, source: int, target: int, name: bytes, path: bytes, status: os.stat_result) -> None:
        key = status.st_dev, status.st_ino
        if key in self._links:
            os.link(self._links[key], name, src_dir_fd=self._top, dst_dir_fd=target)
            return
        opened = _opened(name, source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, status)
        made = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=target)
        try:
            if stat.S_ISREG(os.fstat(opened).st_mode):
                self._data(opened, made)
            _like(opened, made)
        finally:
            os.close(opened)
            os.close(made)
        if status.st_nlink > 1 and len(path) < LONGEST_PATH:
            self._links[key] = path

    def _data(self, source: int, target: int) -> None:
        """Copies a file's data with its holes."""
        size = os.fstat(source).st_size
        os.truncate(target, size)
        at = 0
        while at < size:
            try:
                at = os.lseek(source, at, os.SEEK_DATA)
            except OSError:  # a hole up to the end
                return
            end = min(os.lseek(source, at, os.SEEK_HOLE), size)
            while at < end and (count := os.sendfile(_at(target, at), source, at, min(end - at, _CHUNK))):
                at += count
                self._room -= count
                if self._room < 0:
                    raise OSError(f"files must be {self._most >> 20} MiB at most; got more")
            if at < end:
                return  # it was cut short meanwhile


def _at(descriptor: int, place: int) -> int:
    os.lseek(descriptor, place, os.SEEK_SET)
    return descriptor


def _names(folder: int) -> Iterator[bytes]:
    return map(os.fsencode, os.listdir(folder))


def _opened(name: bytes, folder: int, flags: int, status: os.stat_result) -> int:
    """Opens a file, even one whose mode forbids its owner to. Raises OSError."""
    try:
        return os.open(name, flags | os.O_CLOEXEC, dir_fd=folder)
    except PermissionError:
        if status.st_uid != os.geteuid():
            raise
    return open_closed(os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder), flags)


def open_closed(handle: int, flags: int) -> int:
    """Opens what its owner, this user, may have closed to itself, and closes the handle (O_PATH). Raises OSError."""
    name = f"/proc/self/fd/{handle}"  # the file itself, not what may have its name by now
    try:
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
        if mode | OWN == mode:
            return os.open(name, flags & ~os.O_NOFOLLOW | os.O_CLOEXEC)
        os.chmod(name, mode | OWN)
        try:
            return os.open(name, flags & ~os.O_NOFOLLOW | os.O_CLOEXEC)
        finally:
            os.chmod(name, mode)
    finally:
        os.close(handle)


def _like(source: int, target: int) -> None:
    """The times, the rights and the further attributes of one for the other."""
    status = os.fstat(source)
    with contextlib.suppress(OSError):
        for attribute in os.listxattr(source):
            with contextlib.suppress(OSError):
                os.setxattr(target, attribute, os.getxattr(source, attribute))
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
    dropped = 0 if stat.S_ISDIR(status.st_mode) else stat.S_ISUID | stat.S_ISGID
    os.fchmod(target, stat.S_IMODE(status.st_mode) & ~dropped)


def main(source: int, target: int, most_bytes: int) -> int:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        Copy(source, target, most_bytes, (min(most, 1 << 16) - _HOLDS) // 2).run()
    except OSError as error:
        where = f" ({os.fsdecode(error.filename)[:200]!r})" if error.filename else ""
        sys.stderr.write(f"{error.strerror or error}{where}\n")
        return LACKING if error.errno in _LACKED else SUCH
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
