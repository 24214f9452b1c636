"""Files that are written whole or not at all, also across a power cut."""

from __future__ import annotations

import errno
import os
import pathlib

FULL_DISK = (errno.ENOSPC, errno.EDQUOT)  # of OSErrors that need no other place, but space


def write_atomic(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace the file at `path` by `data`, whole or not at all, also across a power cut.

    Writes beside, fsyncs, renames, fsyncs the directory. Raises OSError (a full disk, for instance) with the old file
    untouched and the partial one removed.
    """
    target = pathlib.Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with open(partial, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    directory = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
