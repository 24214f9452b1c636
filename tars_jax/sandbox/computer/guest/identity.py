"""Whom the guest works for: its own rights, and those of the programs that it starts."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 1, 4, 36
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
TOKEN = "TARS_GUEST_TOKEN"

LIBC = ctypes.CDLL(None, use_errno=True)
_SET_USER, _SET_GROUP = {"aarch64": (147, 149)}.get(os.uname().machine, (117, 119))  # setresuid and setresgid


@dataclass(frozen=True)
class Identity:
    """`user` and `group` are None where programs run as the guest itself does."""

    user: int | None = None
    group: int | None = None
    home: str = "/"
    environment: Mapping[str, str] = field(default_factory=dict)  # of every program

    def drop(self) -> None:
        """Drops rights of the calling thread alone: files are opened and made as the user, without root's rights."""
        if self.user is not None and self.group is not None:
            _use_rights_of(self.user, self.group)

    @contextlib.contextmanager
    def dropped(self) -> Iterator[None]:
        own = os.geteuid(), os.getegid()
        self.drop()
        try:
            yield
        finally:
            if self.user is not None:
                _use_rights_of(*own)

    def of_programs(self) -> dict[str, object]:
        """Arguments by which subprocess.Popen starts a program of the user."""
        if self.user is None:
            return {}
        return {"user": self.user, "group": self.group, "extra_groups": []}


def _use_rights_of(user: int, group: int) -> None:
    """The calling thread alone reaches files with the rights of this user. Root may come back to its own."""
    LIBC.setfsgid(group)
    LIBC.setfsuid(user)
    if LIBC.setfsuid(-1) != user:  # gVisor does not have these: the thread's effective ids instead, which libc would
        keep = ctypes.c_long(-1)  # change in all threads
        LIBC.syscall(_SET_USER, keep, ctypes.c_long(os.getuid()), keep)
        LIBC.syscall(_SET_GROUP, keep, ctypes.c_long(group), keep)
        LIBC.syscall(_SET_USER, keep, ctypes.c_long(user), keep)


class OomScoreAdj:
    """The kernel's oom_score_adj: where memory ends, programs that are started within `with` are killed before the
    guest."""

    def __init__(self) -> None:
        self._score: int | None = None
        with contextlib.suppress(OSError):  # none is there, or may be changed
            self._score = os.open("/proc/self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC)
            self._own = os.read(self._score, 16).strip()

    def _set(self, score: bytes) -> None:
        if self._score is not None:
            with contextlib.suppress(OSError):
                os.pwrite(self._score, score, 0)

    def __enter__(self) -> None:
        self._set(b"500")

    def __exit__(self, *_: object) -> None:
        self._set(self._own if self._score is not None else b"")


def guard(*, subreaper: bool) -> None:
    """Other programs of the same user may neither trace the guest nor read its memory, descriptors or variables."""
    LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    if subreaper:
        LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_with(owner: int) -> None:
    """The guest gets SIGTERM when the process that started it ends, however that comes."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != owner:  # it has ended already
        sys.exit(0)


def identity(user: str, home: str) -> Identity:
    """The identity from "UID:GID", or "" for the guest's own user. Takes the token out of the variables."""
    environment = {name: value for name, value in os.environ.items() if name != TOKEN}
    uid, _, gid = user.partition(":")
    own = not user or int(uid) == os.geteuid()
    home = home or environment.get("HOME", "/")
    name = _name(os.geteuid() if own else int(uid))
    environment = {
        "PATH": PATH, "LANG": "C.UTF-8", **environment, "HOME": home, "USER": name, "LOGNAME": name,
        "SHELL": "/bin/bash",
    }  # fmt: skip
    if own:
        return Identity(home=home, environment=environment)
    os.setgroups([])
    return Identity(int(uid), int(gid or uid), home, environment)


def _name(uid: int) -> str:
    with contextlib.suppress(OSError), open("/etc/passwd", "rb") as lines:
        for line in lines:
            fields = line.split(b":")
            if len(fields) > 2 and fields[2] == str(uid).encode():
                return os.fsdecode(fields[0])
    return "root" if uid == 0 else "agent"
