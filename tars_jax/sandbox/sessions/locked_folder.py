"""A folder of sessions, which one process has at a time."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import TextIO

from tars_jax import InputError


def lock_folder(folder: Path, holds: str) -> TextIO:
    """Makes the folder and takes it until the file that is returned is closed, or the process ends.

    `holds`: what lies in it, for errors. Raises InputError when another process has it, or it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    except OSError as error:
        raise InputError(f"{folder} cannot hold {holds}: {error.strerror}; it must be writable") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise InputError(
            f"{holds} must have a folder of their own; got {folder}, which another process uses"
        ) from error
    return lock
