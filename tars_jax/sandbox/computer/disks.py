"""Disks of limited size to which the files of a container are written.

An image, mounted through a loop device, where this machine allows that: its pages leave memory, and a full one is told
as "no space left". Memory (tmpfs) otherwise, which the limit of memory counts, too.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

_FEATURES = "^has_journal,^resize_inode,^metadata_csum"  # a disk that nobody repairs after a crash


@functools.cache
def image_maker() -> str | None:
    """The program that makes file systems; None where images cannot be mounted."""
    if os.geteuid() != 0 or not os.access("/dev/loop-control", os.R_OK | os.W_OK):
        return None
    return shutil.which("mkfs.ext4", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def make_disk(folder: Path, mib: int) -> dict[str, Any]:
    """A new, empty disk: the entry `disk` of a container's plan. Takes only the space that is written to.

    Raises OSError or CalledProcessError.
    """
    maker = image_maker()
    if maker is None:
        return {"kind": "memory", "mib": mib}
    image = folder / "disk.ext4"
    with open(image, "xb") as file:
        file.truncate(mib << 20)
    options = "lazy_itable_init=1,nodiscard,root_owner=0:0"
    subprocess.run(
        [maker, "-q", "-F", "-m", "0", "-i", "16384", "-O", _FEATURES, "-E", options, str(image)],
        check=True, stdin=subprocess.DEVNULL, capture_output=True,
    )  # fmt: skip
    return {"kind": "image", "file": str(image)}
