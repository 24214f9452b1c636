"""Sandbox of the scoring process: it may write below one folder of this machine, and nowhere else.

Tasks and what an agent has left name files: where to keep one, or what an archive unpacks to. The names of a task are
looked at when it is read (`tasks/benchmarks/osworld_files.py`); this holds whatever names come, through links, too.
Landlock bounds the process and what it starts, where the kernel has it; Python's own calls are looked at everywhere.
Imports nothing of ours.
"""

import ctypes
import os
import resource
import struct
import sys
import tempfile
from typing import Any

LARGEST_FILE = 4 << 30  # bytes that one file may have
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Of Python's audit events, those of calls that change what is at a path, and which of their arguments are such paths.
CHANGES = {
    "os.mkdir": (0,), "os.rmdir": (0,), "os.remove": (0,), "os.truncate": (0,), "os.chmod": (0,), "os.chown": (0,),
    "os.utime": (0,), "os.rename": (0, 1), "os.link": (1,), "os.symlink": (1,), "os.mkfifo": (0,), "os.mknod": (0,),
    "os.setxattr": (0,),
}  # fmt: skip
RULESET, RULE, RESTRICT = 444, 445, 446  # numbers of Landlock's calls
WRITE_FILE, MOVE, TRUNCATE = 1 << 1, 1 << 13, 1 << 14  # the latter two since versions 2 and 3
# write and remove files, make and remove whatever else there is, of its first version
ALL_CHANGES = WRITE_FILE | sum(1 << bit for bit in range(4, 13))
NO_NEW_PRIVILEGES = 38  # of prctl


class OutsideFolder(PermissionError):
    """A file outside of the folder would have been changed."""


def bound(folder: str) -> None:
    """Bounds this process from now on: it changes files below `folder` alone, where its temporary ones are, too."""
    folder = os.path.realpath(folder)
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    os.environ.update(dict.fromkeys(("TMPDIR", "HOME", "XDG_CACHE_HOME"), folder))
    tempfile.tempdir = folder
    sys.dont_write_bytecode = True

    def look(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & WRITES:
                _check(path, folder)
        elif event == "sqlite3.connect":
            if arguments[0] != ":memory:" and not str(arguments[0]).startswith("file:"):
                _check(arguments[0], folder)
        elif event in CHANGES:
            for index in CHANGES[event]:
                _check(arguments[index], folder, follows=event in ("os.truncate", "os.chmod", "os.chown", "os.utime"))

    _landlock(folder)
    sys.addaudithook(look)


def _check(path: Any, folder: str, *, follows: bool = True) -> None:
    if not isinstance(path, str | bytes | os.PathLike):
        return  # a descriptor, of what was opened before
    name = os.path.abspath(os.fsdecode(path))
    real = os.path.realpath(name) if follows else os.path.join(os.path.realpath(os.path.dirname(name)), "x")
    if not real.startswith(folder + os.sep) and real not in (folder, os.devnull):
        raise OutsideFolder(f"what is scored would have changed {name}, outside of its folder")


def _landlock(folder: str) -> None:
    """The kernel's own bounds; a kernel without them goes without."""
    system = ctypes.CDLL(None, use_errno=True)
    version = system.syscall(RULESET, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return
    changes = ALL_CHANGES | (MOVE if version >= 2 else 0) | (TRUNCATE if version >= 3 else 0)
    handled = ctypes.c_uint64(changes)
    rules = system.syscall(RULESET, ctypes.byref(handled), ctypes.c_size_t(8), 0)
    if rules < 0:
        return
    try:
        for path, allowed in ((folder, changes), (os.devnull, WRITE_FILE)):
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            rule = ctypes.create_string_buffer(struct.pack("=Qi", allowed, place))
            failed = system.syscall(RULE, rules, 1, rule, 0)
            os.close(place)
            if failed:
                return
        if system.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0:
            system.syscall(RESTRICT, rules, 0)
    finally:
        os.close(rules)
