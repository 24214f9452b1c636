"""Copies of the files that an agent has made, for snapshots and forks by files (copying.py, in another process)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from pathlib import Path

from tars_jax.sandbox.computer import copying
from tars_jax.sandbox.failures import Broken


async def copy_folder(source: int, target: Path, most_bytes: int) -> None:
    """Takes over the folder `source`, open or a handle (O_PATH): its owner may have closed it to itself.

    A cancelled copy has ended. Raises Broken, which says what was not to be copied; OSError where this machine lacks
    something, such as room.
    """
    opened = [copying.open_closed(source, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
    try:
        target.mkdir(parents=True, exist_ok=True)
        opened.append(os.open(target, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", copying.__file__, *map(str, opened), str(most_bytes), pass_fds=opened,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
    finally:
        for descriptor in opened:
            os.close(descriptor)
    try:
        said = (await process.communicate())[1].decode(errors="replace").strip()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        raise
    if process.returncode == copying.SUCH:
        raise Broken(f"files could not be copied: {said[-500:]}")
    if process.returncode != 0:
        raise OSError(said[-500:] or f"its process ended with {process.returncode}")
