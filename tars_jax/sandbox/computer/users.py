"""A user of this machine for each container, so that what the kernel counts by user is no other session's.

Such are instances of inotify, pending signals, message queues and pages of pipes. The numbers are of a range that
belongs to nobody; each owner of containers has a block of them for itself, by a lock that its launcher holds, too.
Files on the disks of containers belong to `USER_ID` all the same: their mounts are mapped (launcher/mapping.py), so
snapshots can be anybody's without a copy.

A user has a folder, RUN/users/NUMBER, for as long as somebody holds it: a container, or a checkpoint whose processes
are this user's. The next owner of the run finds there who has which.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from pathlib import Path

from tars_jax import InputError
from tars_jax.sandbox.computer.root import HOMES, names
from tars_jax.sandbox.failures import SandboxFailure

FIRST = 0x7100_0000  # of what systemd's list of numbers says is nobody's (1,879,048,192 to 2,147,483,647)
EACH = 1024  # users of one owner
BLOCKS = 1024  # owners
LOCKS = Path("/run/tars_jax-users")
_ROOT, _HELD = "root", "held"


def first_user() -> int:
    """First user of the range: what TARS_JAX_USERS says; 0: containers share one user. Raises InputError."""
    text = os.environ.get("TARS_JAX_USERS", str(FIRST))
    if not text.isdecimal() or not (int(text) == 0 or 1 << 16 <= int(text) <= (1 << 32) - 2 - EACH * BLOCKS):
        raise InputError(f"TARS_JAX_USERS must be the first of {EACH * BLOCKS} users from 65536 on, or 0; got {text!r}")
    return int(text)


def take_block(first: int) -> tuple[int, int]:
    """The first user of a block that no other owner has, and the descriptor of its lock. Raises OSError."""
    LOCKS.mkdir(mode=0o700, exist_ok=True)
    for block in range(first, first + EACH * BLOCKS, EACH):
        lock = os.open(LOCKS / str(block), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            continue
        return block, lock
    raise OSError(f"{BLOCKS} owners of containers have all users from {first} on")


class Users:
    """Users of one owner. Each belongs to who holds it, by name."""

    def __init__(self, folder: Path, block: int | None = None) -> None:
        """`block`: the first user; None: of the owner before, which has left the folder. Raises OSError."""
        self._folder = folder
        if block is not None:
            folder.mkdir()
            (folder / "first").write_text(str(block))
        self._first = int((folder / "first").read_text())
        self._held = {file.name: int(file.parts[-3]) for file in folder.glob(f"*/{_HELD}/*")}
        self._next = 0

    def take(self, holder: str, wanted: int | None = None) -> int:
        """Takes a user that nobody holds and that was not given back just now, or the one that is wanted.

        Raises SandboxFailure where all are held; OSError.
        """
        held = set(self._held.values())
        if wanted is not None:
            if wanted not in held:
                self._make(wanted)
            self.hold(wanted, holder)
            return wanted
        for offset in range(EACH):
            user = self._first + (self._next + offset) % EACH
            if user not in held:
                self._next = user - self._first + 1
                self._make(user)
                self.hold(user, holder)
                return user
        raise SandboxFailure("container", f"containers and suspended ones must be {EACH} at most; got one more")

    def hold(self, user: int, holder: str) -> None:
        """Adds another holder of the same user, such as a live copy."""
        (self._folder / str(user) / _HELD / holder).touch()
        self._held[holder] = user

    def give_back(self, holder: str) -> None:
        """Gives a user back; a second call does nothing."""
        if (user := self._held.pop(holder, None)) is not None:
            folder = self._folder / str(user)
            with contextlib.suppress(FileNotFoundError):
                (folder / _HELD / holder).unlink()
            if user not in self._held.values():
                shutil.rmtree(folder, ignore_errors=True)

    def layer(self, user: int) -> Path:
        """The layer over the base of each container of a user: its name, and folders of its own."""
        return self._folder / str(user) / _ROOT

    def _make(self, user: int) -> None:
        shutil.rmtree(self._folder / str(user), ignore_errors=True)
        (self._folder / str(user) / _HELD).mkdir(parents=True)
        root = self.layer(user)
        for name in ("", "etc", *sorted({top for home in HOMES for top in (os.path.dirname(home), home)})):
            (root / name).mkdir()
            (root / name).chmod(0o755)
        for name in HOMES:
            os.chown(root / name, user, user)
        for name, text in names(user).items():
            (root / name).write_text(text)
            (root / name).chmod(0o644)
