"""Changes below a folder as they happen (inotify), kept until somebody asks for them."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import struct
from collections.abc import Callable

from tars_jax.sandbox.computer.guest.calls import Call, CallError
from tars_jax.sandbox.computer.guest.identity import LIBC, Identity
from tars_jax.sandbox.computer.guest.loop import READ, Loop
from tars_jax.sandbox.computer.guest.roots import open_below

MODIFIED, MOVED_FROM, MOVED_TO, CREATED, DELETED = 0x2, 0x40, 0x80, 0x100, 0x200
CLOSED = 0x8  # after writing
OVERFLOW, IS_FOLDER = 0x4000, 0x40000000
MASK = MODIFIED | CLOSED | MOVED_FROM | MOVED_TO | CREATED | DELETED
KINDS = {MODIFIED: "changed", CLOSED: "written", MOVED_FROM: "gone", MOVED_TO: "came", CREATED: "made", DELETED: "gone"}
MOST_CHANGES, MOST_FOLDERS, MOST_WATCHES = 10_000, 1000, 64
HEAD = struct.Struct("iIII")


class InotifyWatch:
    """`changes` are [kind, path from the folder on], equal ones behind each other once."""

    def __init__(self, loop: Loop, identity: Identity, folder: int, deep: bool) -> None:
        self._loop, self._identity, self._deep, self._folder = loop, identity, deep, folder
        self._inotify = LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._inotify < 0:
            number = ctypes.get_errno()
            raise CallError.of(OSError(number, os.strerror(number)), "there is no further watch")
        self._paths: dict[int, str] = {}
        self.changes: list[list[str]] = []
        self.lost = False  # more has happened than is kept, or can be watched
        self.waiting: Callable[[], None] | None = None
        with identity.dropped():
            self._add(folder, "")
        loop.watch(self._inotify, READ, self._ready)

    def _add(self, folder: int, prefix: str) -> None:
        if len(self._paths) >= MOST_FOLDERS:
            self.lost = True
            return
        number = LIBC.inotify_add_watch(self._inotify, b"/proc/self/fd/%d/." % folder, MASK)
        if number < 0:
            self.lost = True
            return
        self._paths[number] = prefix
        if not self._deep:
            return
        with contextlib.suppress(OSError), os.scandir(f"/proc/self/fd/{folder}") as entries:
            for name in [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]:
                self._descend(folder, name, prefix)

    def _descend(self, folder: int, name: str, prefix: str) -> None:
        with contextlib.suppress(OSError):
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            try:
                self._add(below, f"{prefix}{name}/")
            finally:
                os.close(below)

    def _ready(self, _: int) -> None:
        data = b""
        with contextlib.suppress(BlockingIOError):
            data = os.read(self._inotify, 1 << 16)
        at = 0
        while at < len(data):
            number, mask, _cookie, length = HEAD.unpack_from(data, at)
            name = os.fsdecode(data[at + HEAD.size : at + HEAD.size + length].rstrip(b"\0"))
            at += HEAD.size + length
            self._happened(number, mask, name)
        if self.changes and self.waiting:
            self.waiting()

    def _happened(self, number: int, mask: int, name: str) -> None:
        if mask & OVERFLOW:
            self.lost = True
        kind = next((kind for bit, kind in KINDS.items() if mask & bit), None)
        if kind is None or number not in self._paths:
            return
        path = self._paths[number] + name
        if len(self.changes) >= MOST_CHANGES:
            self.lost = True
        elif not self.changes or self.changes[-1] != [kind, path]:
            self.changes.append([kind, path])
        if self._deep and mask & IS_FOLDER and kind in ("made", "came"):
            with self._identity.dropped(), contextlib.suppress(OSError, CallError):
                below = open_below(
                    f"/proc/self/fd/{self._folder}/.", path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
                )
                try:
                    self._add(below, f"{path}/")
                finally:
                    os.close(below)

    def close(self) -> None:
        self._loop.watch(self._inotify, 0, self._ready)
        os.close(self._inotify)
        os.close(self._folder)


class Watches:
    def __init__(self, identity: Identity, loop: Loop) -> None:
        self._identity, self._loop = identity, loop
        self._watches: dict[int, InotifyWatch] = {}
        self._numbers = itertools.count(1)

    def _of(self, call: Call) -> InotifyWatch:
        number = call.whole("watch")
        if number not in self._watches:
            raise CallError("ESRCH", f"watch must be one that was begun; got {number}")
        return self._watches[number]

    def call_watch(self, call: Call) -> None:
        """`deep`: with the folders below, those to come among them."""
        call.check_read("root", "path", "deep")
        if len(self._watches) >= MOST_WATCHES:
            raise CallError("EMFILE", f"there may be {MOST_WATCHES} watches at once")
        path = call.text("path")
        try:
            with self._identity.dropped():
                folder = open_below(call.text("root", "/"), path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise CallError.of(error, path) from error
        try:
            watch = InotifyWatch(self._loop, self._identity, folder, call.flag("deep"))
        except BaseException:
            os.close(folder)
            raise
        number = next(self._numbers)
        self._watches[number] = watch
        call.answer({"watch": number})

    def call_changes(self, call: Call) -> None:
        """Answers with the changes since the last call, as soon as there are any."""
        call.check_read("watch", "timeout_s")
        watch = self._of(call)
        seconds = call.number("timeout_s", 0.0)

        def answer() -> None:
            timer.cancel()
            watch.waiting = None
            changes, watch.changes = watch.changes, []
            lost, watch.lost = watch.lost, False
            call.answer({"changes": changes, "lost": lost})

        if watch.waiting:
            watch.waiting()  # whoever asked before
        timer = self._loop.later(seconds, answer)
        watch.waiting = answer
        if watch.changes or not seconds:
            answer()

    def call_unwatch(self, call: Call) -> None:
        call.check_read("watch")
        watch = self._of(call)
        if watch.waiting:
            watch.waiting()
        watch.close()
        del self._watches[call.whole("watch")]
        call.answer()
