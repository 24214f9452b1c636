"""The folder of one owner's containers, and the removal of what owners left that are gone."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from pathlib import Path

from tars_jax.sandbox.computer.control_groups import remove_groups
from tars_jax.sandbox.computer.launcher.removing import remove_tree


class RunFolder:
    """FOLDER/run-TOKEN, held by a lock for as long as its owner lives.

    Making one removes the folders, control groups and processes of those whose lock nobody holds: their owner and its
    launcher were both killed.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.token = secrets.token_hex(6)
        self.path = folder / f"run-{self.token}"
        with open(folder / "lock", "a") as gate:  # a new folder is not taken for a deserted one before it is locked
            fcntl.flock(gate, fcntl.LOCK_EX)
            for left in folder.glob("run-*"):
                _remove_deserted(left)
            self.path.mkdir(mode=0o755)
            self._lock = os.open(self.path / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)

    @classmethod
    def adopted(cls, path: Path, lock: int) -> RunFolder:
        """The folder of an owner that has gone; `lock`: a descriptor of its lock, which the launcher has held."""
        run = cls.__new__(cls)
        run.path, run.token, run._lock = path, path.name.removeprefix("run-"), lock
        return run

    @property
    def lock(self) -> int:
        """Descriptor of the lock."""
        return self._lock

    def next_number(self) -> int:
        """Behind all that name what lies in it."""
        names = [path.name for folder in ("", "images", "snapshots") for path in (self.path / folder).glob("*")]
        return 1 + max((int(name) for name in names if name.isdecimal()), default=0)

    def close(self) -> None:
        remove_tree(self.path)
        os.close(self._lock)


def _remove_deserted(run: Path) -> None:
    with contextlib.suppress(OSError), open(run / "lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_groups(run.name.removeprefix("run-"))
        remove_tree(run)
