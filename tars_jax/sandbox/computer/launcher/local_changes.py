"""Changes below /usr/local, which stay where the system's programs are restored.

There lie a task's own programs and settings, which may be what was to be mended. Two things there are the system's all
the same: names that are found before a program of the system, and libraries, which programs load.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Sequence

LOCAL, LIBRARIES, PROGRAMS = "local", "lib", ("bin", "sbin")
MOST_BYTES = 256 << 20


def keep_local_changes(left: str, upper: str, system: Sequence[str], user: int) -> None:
    """Copies what a layer has below `local` into the upper layer of a restored system, before that is mounted.

    left: the layer that was left, whose files nobody changes now. system: folders that hold `bin` and `sbin`. No link
    is followed. Beyond MOST_BYTES nothing is copied. Raises OSError.
    """
    names = {name for folder in system for part in PROGRAMS for name in _names(f"{folder}/{part}")}
    size = 0
    waiting = [LOCAL]
    while waiting:
        path = waiting.pop()
        if not _is_folder(f"{left}/{path}"):
            continue
        for name in _names(f"{left}/{path}"):
            each, source, target = f"{path}/{name}", f"{left}/{path}/{name}", f"{upper}/{path}/{name}"
            covers = name in names and path in [f"{LOCAL}/{part}" for part in PROGRAMS]
            status = os.lstat(source)
            if each == f"{LOCAL}/{LIBRARIES}" or covers:
                continue
            if stat.S_ISDIR(status.st_mode):
                waiting.append(each)
                continue
            size += status.st_size
            if size > MOST_BYTES:
                return
            _make_folders(upper, path, user)
            if stat.S_ISREG(status.st_mode):
                shutil.copyfile(source, target, follow_symlinks=False)
                os.chmod(target, status.st_mode & 0o777)
            elif stat.S_ISLNK(status.st_mode):
                os.symlink(os.readlink(source), target)
            elif stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:  # an overlay's word for what was removed
                os.mknod(target, stat.S_IFCHR, 0)
                continue
            else:
                continue
            os.chown(target, user, user, follow_symlinks=False)


def _names(folder: str) -> list[str]:
    return os.listdir(folder) if _is_folder(folder) else []


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _make_folders(upper: str, path: str, user: int) -> None:
    at = upper
    for name in path.split("/"):
        at = f"{at}/{name}"
        if not os.path.isdir(at):
            os.mkdir(at, 0o755)
            os.chown(at, user, user)
