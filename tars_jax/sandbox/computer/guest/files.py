"""Calls about files. They run in threads, with the user's rights and no others."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import stat
import threading
from collections.abc import Callable
from typing import Any

from tars_jax.sandbox.computer.guest.calls import Call, CallError
from tars_jax.sandbox.computer.guest.frames import PIECE
from tars_jax.sandbox.computer.guest.loop import Loop
from tars_jax.sandbox.computer.guest.roots import open_below, open_parent

KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
MOST_ENTRIES = 20_000
CHUNK = 1 << 20

Answer = tuple[dict[str, Any], bytes]


def in_thread(work: Callable[[GuestFiles, Call], Answer]) -> Callable[[GuestFiles, Call], None]:
    @functools.wraps(work)
    def begin(self: GuestFiles, call: Call) -> None:
        def run() -> None:
            try:
                ok, data = work(self, call)
            except CallError as error:
                failure = error
            except OSError as error:
                failure = CallError.of(error, call.text("path"))
            except Exception as error:
                failure = CallError("input", f"{call.name}: {type(error).__name__}: {error}")
            else:
                self.loop.hand(lambda: call.answer(ok, data))
                return
            self.loop.hand(lambda: call.fail(failure))

        self.loop.work(run)

    return begin


class GuestFiles:
    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self._writing = threading.Lock()  # a file is compared and replaced at once

    @in_thread
    def call_stat(self, call: Call) -> Answer:
        """Answers with the state of what a link leads to; of the link where it leads nowhere."""
        call.check_read("root", "path")
        root, path = call.text("root", "/"), call.text("path")
        try:
            with _opened(root, path, os.O_PATH) as descriptor:
                return _facts(os.fstat(descriptor)), b""
        except FileNotFoundError:
            with _parent(root, path) as (folder, name):  # a link that leads nowhere is there
                return _facts(os.stat(name, dir_fd=folder, follow_symlinks=False)), b""

    @in_thread
    def call_list(self, call: Call) -> Answer:
        """The entries of a folder, and of those in it down to `depth`, in the order of their names."""
        call.check_read("root", "path", "depth", "limit")
        limit = call.whole("limit", MOST_ENTRIES, 1, MOST_ENTRIES)
        entries: list[dict[str, Any]] = []
        with _opened(call.text("root", "/"), call.text("path"), os.O_RDONLY | os.O_DIRECTORY) as folder:
            whole = _list(folder, "", call.whole("depth", 1, 1, 64), limit, entries)
        return {"entries": entries, "whole": whole}, b""

    @in_thread
    def call_read(self, call: Call) -> Answer:
        call.check_read("root", "path", "offset", "limit")
        with _regular(call, os.O_RDONLY) as descriptor:
            data = os.pread(descriptor, call.whole("limit", PIECE, 0, PIECE), call.whole("offset", 0))
            return _facts(os.fstat(descriptor)), data

    @in_thread
    def call_lines(self, call: Call) -> Answer:
        """Lines `first` to `last` (from 1 on; -1: the last) as bytes, up to `limit`, and how many lines there are."""
        call.check_read("root", "path", "first", "last", "limit")
        first, last = call.whole("first", 1, 1), call.whole("last", -1, -1)
        limit = call.whole("limit", PIECE, 1, PIECE)
        kept, line, whole = bytearray(), 1, True
        ends_open = False
        with _regular(call, os.O_RDONLY) as descriptor:
            while chunk := os.read(descriptor, CHUNK):
                for piece in _split(chunk):
                    if first <= line and (last == -1 or line <= last):
                        room = limit - len(kept)
                        whole = whole and len(piece) <= room
                        kept += piece[:room]
                    ends_open = not piece.endswith(b"\n")
                    line += not ends_open
            facts = _facts(os.fstat(descriptor))
        return {**facts, "lines": line if ends_open else line - 1, "whole": whole}, bytes(kept)

    @in_thread
    def call_write(self, call: Call) -> Answer:
        """The whole file, or a piece of it at `offset`. `version`: what the file must be, None for nothing there.

        A file is there whole or as it was, but for one that several names or a link lead to: that keeps its place.
        """
        call.check_read("root", "path", "offset", "version", "new", "mode")
        with self._writing:
            return self._write(call)

    def _write(self, call: Call) -> Answer:
        root, path, data = call.text("root", "/"), call.text("path"), call.data
        version, new = call.text("version", ""), call.flag("new")
        offset, mode = call.whole("offset", -1, -1), call.whole("mode", 0o644, 0, 0o777)
        found = self._found(root, path)
        if new and found is not None:
            raise CallError("EEXIST", f"{path}: there is one already")
        if version and (found is None or _facts(found)["version"] != version):
            raise CallError("EBUSY", f"{path}: it was changed meanwhile")
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise CallError("EISDIR" if stat.S_ISDIR(found.st_mode) else "EINVAL", f"{path}: it is no ordinary file")
        if offset >= 0:
            flags = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | (os.O_TRUNC if offset == 0 else 0)
            with _opened(root, path, flags, mode) as descriptor:
                _write_all(descriptor, data, offset)
                return _facts(os.fstat(descriptor)), b""
        with _parent(root, path) as (folder, name):
            there = None
            with contextlib.suppress(FileNotFoundError):
                there = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if there is None or (stat.S_ISREG(there.st_mode) and there.st_nlink == 1):
                with contextlib.suppress(PermissionError):  # the file may be written where its folder may not
                    return _replace(folder, name, data, stat.S_IMODE(there.st_mode) if there else mode), b""
        with _opened(root, path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK, mode) as descriptor:
            _write_all(descriptor, data, 0)
            os.ftruncate(descriptor, len(data))
            return _facts(os.fstat(descriptor)), b""

    @staticmethod
    def _found(root: str, path: str) -> os.stat_result | None:
        with contextlib.suppress(FileNotFoundError), _opened(root, path, os.O_PATH) as descriptor:
            return os.fstat(descriptor)
        return None

    @in_thread
    def call_make_folder(self, call: Call) -> Answer:
        """Makes a folder and those above it. One that is there is fine."""
        call.check_read("root", "path")
        root, path = call.text("root", "/"), call.text("path")
        missing: list[str] = []
        while True:
            try:
                with _opened(root, path, os.O_PATH | os.O_DIRECTORY):
                    break
            except FileNotFoundError:
                missing.append(path)
                path = path.rstrip("/").rpartition("/")[0] or ("/" if path.startswith("/") else ".")
        for each in reversed(missing):
            with _parent(root, each) as (folder, name), contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=folder)
        return {}, b""

    @in_thread
    def call_remove(self, call: Call) -> Answer:
        """A link is removed, not what it leads to. `all`: a folder with what is in it."""
        call.check_read("root", "path", "all")
        with _parent(call.text("root", "/"), call.text("path")) as (folder, name):
            if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=folder)
            elif call.flag("all"):
                shutil.rmtree(name, dir_fd=folder)
            else:
                os.rmdir(name, dir_fd=folder)
        return {}, b""

    @in_thread
    def call_move(self, call: Call) -> Answer:
        """Moves a file or folder; what is at the other place is replaced, as far as rename(2) does that."""
        call.check_read("root", "path", "to")
        root, path, to = call.text("root", "/"), call.text("path"), call.text("to")
        with _parent(root, path) as (folder, name), _parent(root, to) as (other, new):
            try:
                os.rename(name, new, src_dir_fd=folder, dst_dir_fd=other)
            except OSError as error:  # which of the two it is about, the system does not say
                raise CallError.of(error, f"{path} to {to}") from error
        return {}, b""


@contextlib.contextmanager
def _opened(root: str, path: str, flags: int, mode: int = 0) -> Any:
    descriptor = open_below(root, path, flags, mode)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _parent(root: str, path: str) -> Any:
    folder, name = open_parent(root, path)
    try:
        yield folder, name
    finally:
        os.close(folder)


@contextlib.contextmanager
def _regular(call: Call, flags: int) -> Any:
    """A file, and nothing that one waits for, such as a pipe."""
    path = call.text("path")
    with _opened(call.text("root", "/"), path, flags | os.O_NONBLOCK) as descriptor:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise CallError("EISDIR" if stat.S_ISDIR(mode) else "EINVAL", f"{path}: it is no ordinary file")
        yield descriptor


def _facts(found: os.stat_result) -> dict[str, Any]:
    return {
        "kind": KINDS.get(stat.S_IFMT(found.st_mode), "other"), "size": found.st_size,
        "mode": stat.S_IMODE(found.st_mode), "modified": found.st_mtime, "user": found.st_uid,
        "version": f"{found.st_ino}.{found.st_size}.{found.st_mtime_ns}.{found.st_ctime_ns}",
    }  # fmt: skip


def _list(folder: int, prefix: str, depth: int, limit: int, entries: list[dict[str, Any]]) -> bool:
    with os.scandir(folder) as scanned:
        names = sorted(entry.name for entry in scanned)
    for name in names:
        if len(entries) >= limit:
            return False
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            continue
        entries.append({"path": prefix + name, **_facts(found)})
        if depth > 1 and stat.S_ISDIR(found.st_mode):
            with contextlib.suppress(OSError):
                below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
                try:
                    if not _list(below, f"{prefix}{name}/", depth - 1, limit, entries):
                        return False
                finally:
                    os.close(below)
    return True


def _split(chunk: bytes) -> list[bytes]:
    """By line feeds alone."""
    pieces = [piece + b"\n" for piece in chunk.split(b"\n")]
    pieces[-1] = pieces[-1][:-1]
    return pieces if pieces[-1] else pieces[:-1]


def _write_all(descriptor: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written


def _replace(folder: int, name: bytes, data: bytes, mode: int) -> dict[str, Any]:
    """Writes beside and renames."""
    beside = b".%d.%d.partial" % (os.getpid(), threading.get_ident())
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=folder)
    try:
        try:
            _write_all(descriptor, data, 0)
            os.fchmod(descriptor, mode)
            os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
            return _facts(os.fstat(descriptor))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(beside, dir_fd=folder)
            raise
    finally:
        os.close(descriptor)
