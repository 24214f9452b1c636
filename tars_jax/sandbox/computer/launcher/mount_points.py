"""Mount points in a container's root, made by the host before any program of it runs.

The files may be a snapshot of a container whose programs could change them, root's above all: a link in such a place
would lead the host to its own files.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable


def make_real(root: str, folders: Iterable[str], owner: int) -> None:
    """Each of these absolute paths is a folder below `root`, and so are all above it: what else was there by the name,
    a link for instance, is removed. New ones are the owner's. Raises OSError.
    """
    for path in folders:
        at = root
        for name in path.strip("/").split("/"):
            if name in ("", ".", ".."):
                raise ValueError(f"a place in a container must be an absolute path without dots; got {path!r}")
            at = f"{at}/{name}"
            try:
                is_folder = stat.S_ISDIR(os.lstat(at).st_mode)
            except FileNotFoundError:
                pass
            else:
                if is_folder:
                    continue
                os.unlink(at)
            os.mkdir(at, 0o755)
            os.chown(at, owner, owner)


def remove_link(root: str, path: str) -> None:
    """Removes the link at a place whose folder is real already, where a file is to be mounted."""
    if os.path.islink(root + path):
        os.unlink(root + path)
