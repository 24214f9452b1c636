"""Locks of phones among this machine's processes and environments: one phone, one episode."""

from __future__ import annotations

import fcntl
import os
import re
import tempfile
from pathlib import Path
from typing import TextIO


def lock_phone(name: str) -> TextIO | None:
    """Locks a name: until the file is closed, nobody else of this machine gets one of that name; None where another has
    it. Whoever dies lets go of it."""
    folder = Path(tempfile.gettempdir(), f"tars_jax-phones-{os.geteuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    lock = open(folder / re.sub(r"[^\w.-]", "_", name), "w")  # noqa: SIM115 - held by whoever gets it
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        return None
    return lock
