"""A command line in a computer, run to its end, with what it wrote."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import os
import stat
from collections.abc import Mapping

from tars_jax.sandbox.computer.computer import Computer
from tars_jax.sandbox.computer.guest_client import GuestError
from tars_jax.sandbox.failures import SandboxFailure

MOST_OUTPUT = 8 << 20  # bytes of each stream that are given back, half of them from its end
NO_SUCH = 126  # the status of what could not be started, as shells have it
# Files take the output, so that a program in the background that keeps the stream open keeps nobody waiting.
_TO_FILES = 'exec /bin/bash -c "$1" >"$2" 2>"$3" </dev/null'
_NUMBERS = itertools.count(1)


@dataclasses.dataclass(frozen=True)
class Done:
    """`status`: the exit status, minus the signal's number if one ended it. `timed_out`: it was killed."""

    status: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False


async def run_command(
    computer: Computer, command: str, *, cwd: str | None = None, env: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
) -> Done:  # fmt: skip
    """Runs a line of bash; what it leaves in the background goes on.

    Its process group is killed after `timeout_s` (None: never), and where this call is cancelled. A folder or a
    program that is not there is a status of 126 with the reason in stderr, as a container runtime has it. Raises
    SandboxFailure where the computer is gone.
    """
    machine, folder = computer.machine, computer.container.run_folder
    name = f"command-{next(_NUMBERS)}"
    outputs = [f"{folder}/{name}.{end}" for end in ("out", "err")]
    try:
        await _make_folder(computer, folder)
        process = await machine.start(["/bin/bash", "-c", _TO_FILES, "bash", command, *outputs], env=env, cwd=cwd)
    except GuestError as error:
        return Done(NO_SUCH, b"", str(error).encode())
    try:
        status = await machine.wait(process, timeout_s)
    except BaseException:
        await asyncio.shield(_end(computer, process, outputs))
        raise
    timed_out = status is None
    if status is None:
        await machine.kill(process)
        status = await machine.wait(process) or 0
    stdout, stderr = [await asyncio.to_thread(_read, computer, folder, path) for path in outputs]
    await _remove(computer, outputs)
    return Done(status, stdout, stderr, timed_out)


async def _make_folder(computer: Computer, folder: str) -> None:
    """A real one, whatever programs inside have put in its place. Raises GuestError where it cannot be."""
    call = computer.machine.client.call
    try:
        os.close(await asyncio.to_thread(computer.container.open_folder, folder))
    except OSError:
        with contextlib.suppress(GuestError):  # nothing is there
            await call("remove", path=folder, all=True)
        await call("make_folder", path=folder)


async def _end(computer: Computer, process: int, outputs: list[str]) -> None:
    with contextlib.suppress(SandboxFailure):  # it is gone, with all that ran there
        await computer.machine.kill(process)
        await _remove(computer, outputs)


async def _remove(computer: Computer, paths: list[str]) -> None:
    for path in paths:
        with contextlib.suppress(GuestError):  # the command has removed it
            await computer.machine.client.call("remove", path=path)


def _read(computer: Computer, folder: str, path: str) -> bytes:
    """Both ends of a file that programs inside can replace by anything: then nothing was written."""
    try:
        opened = computer.container.open_folder(folder)
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(path.rpartition("/")[2], flags, dir_fd=opened)
        finally:
            os.close(opened)
    except OSError:
        return b""
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return b""
        if found.st_size <= MOST_OUTPUT:
            return file.read(MOST_OUTPUT)
        head = file.read(MOST_OUTPUT // 2)
        file.seek(found.st_size - MOST_OUTPUT // 2)
        cut = found.st_size - 2 * len(head)
        return head + b"\n[%d bytes left out]\n" % cut + file.read(MOST_OUTPUT // 2)
