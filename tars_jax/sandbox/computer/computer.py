"""Computers: each a container and its guest, opened and given back by who started the isolation."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import stat
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Self

from tars_jax import InputError
from tars_jax.sandbox.computer.contained_guest import ContainedGuest
from tars_jax.sandbox.computer.container import Container, Isolation
from tars_jax.sandbox.computer.guest_client import GuestMachine
from tars_jax.sandbox.computer.home import File, Tree, packed, read_home
from tars_jax.sandbox.computer.isolation import open_isolation
from tars_jax.sandbox.computer.processes import Process, listening_ports, processes_below
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.failures import SandboxFailure


@dataclasses.dataclass(eq=False)
class Computer:
    """A session: `machine` starts programs in it. Its end is that of all that runs there."""

    guest: ContainedGuest

    @property
    def container(self) -> Container:
        return self.guest.container

    @property
    def machine(self) -> GuestMachine:
        return self.guest.machine

    async def put(self, files: Tree, folders: Sequence[str] = ()) -> None:
        """Writes files and folders below the home folder, as the agent's own. Raises SandboxFailure."""
        done = await self.machine.run(
            ["tar", "x", "--no-same-owner", "-p", "-C", self.machine.home], packed(files, tuple(folders)), timeout_s=60
        )
        if done.status != 0:
            raise SandboxFailure("guest", f"the home folder could not be filled: {done.stderr[:200]!r}")

    async def home(self, leaving_out: Collection[str] = ()) -> tuple[dict[str, File], frozenset[str]]:
        """The files and the folders below the home folder, as `read_home` finds them. Raises TooMuch."""
        try:
            return await asyncio.to_thread(read_home, self.container.host_path(self.machine.home), leaving_out)
        except OSError as error:
            raise SandboxFailure("container", f"the home folder cannot be read: {error}") from error

    async def processes(self) -> list[Process]:
        """What runs inside besides the guest."""
        return await asyncio.to_thread(processes_below, self.container.pid)

    async def ports(self) -> frozenset[int]:
        """The TCP ports that programs inside listen at."""
        return await asyncio.to_thread(listening_ports, self.container.pid)

    async def close(self) -> None:
        """Twice is once."""
        await self.guest.__aexit__()


class Computers:
    """An async context manager over one kind of isolation; computers that were not closed end with it."""

    def __init__(self, isolation: str = "auto") -> None:
        """`isolation`: a kind of `open_isolation`; auto is the first that works here."""
        self._kind = isolation
        self._isolation: Isolation | None = None

    async def __aenter__(self) -> Self:
        """Raises InputError where no kind of isolation works."""
        self._isolation = await open_isolation(_shared_folder(), self._kind)
        return self

    async def __aexit__(self, *_: object) -> None:
        isolation, self._isolation = self._isolation, None
        if isolation is not None:
            await isolation.close()

    async def open(self, spec: ContainerSpec | None = None) -> Computer:
        """A computer whose guest answers. Raises SandboxFailure."""
        if self._isolation is None:
            raise RuntimeError("computers must be entered before one is opened")
        guest = ContainedGuest(self._isolation, spec or ContainerSpec())
        await guest.__aenter__()
        return Computer(guest)


def _shared_folder() -> Path:
    """This user's own, so that what a killed owner left is found. Raises InputError where it is somebody else's."""
    folder = Path(tempfile.gettempdir()) / f"tars_jax-computers-{os.geteuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.geteuid() or not stat.S_ISDIR(found.st_mode) or found.st_mode & 0o077:
        raise InputError(f"{folder} must be a folder of this user alone; got one of user {found.st_uid}")
    return folder
