"""A guest inside a container: the machine that the parts of an isolated computer run on."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Self

from tars_jax.sandbox.computer.container import Checkpoint, Container, Isolation, Snapshot
from tars_jax.sandbox.computer.guest_client import GuestClient
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.computer.reattachment import can_keep
from tars_jax.sandbox.computer.recording import CallRecording
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.failures import SandboxFailure

GUEST, INSIDE = Path(__file__).with_name("guest"), "/opt/tars_jax/guest"
OLDEST = (3, 11)  # Python that runs the guest
_FOLDERS = "/usr/bin:/usr/local/bin"  # that a container shows
_TOKEN = "TARS_GUEST_TOKEN"


@functools.cache
def guest_python() -> tuple[str, dict[str, Path]]:
    """The Python that runs guests, and what a container must show for it: the system's, or this process's own where the
    system has none, or one that is too old.
    """
    for name in ("python3", *(f"python3.{minor}" for minor in range(19, OLDEST[1] - 1, -1))):
        if python := shutil.which(name, path=_FOLDERS):
            command = [python, "-I", "-S", "-c", f"import sys; sys.exit(sys.version_info < {OLDEST})"]
            if subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0:
                return python, {}
    return os.path.realpath(sys.executable), {sys.base_prefix: Path(sys.base_prefix)}


class ContainedGuest:
    """Use as an async context manager: `machine` is then ready, in `container`. Its end is the container's."""

    container: Container
    machine: GuestMachine

    def __init__(
        self, isolation: Isolation, spec: ContainerSpec, snapshot: Snapshot | None = None, *,
        checkpoint: Checkpoint | None = None, adopted: str = "", token: str = "",
        recording: CallRecording | None = None,
    ) -> None:  # fmt: skip
        """A new guest, on the files of `snapshot`; or with `checkpoint` and its `token` one that goes on from there.

        `adopted`: the id of a container that another process has left with its guest, whose `token` it is.
        `recording` takes what is called from now on.
        """
        self._python, binds = guest_python()
        self.token = token or secrets.token_hex(16)
        environment = {**spec.environment, **({_TOKEN: self.token} if isolation.socket_is_open else {})}
        self.spec = spec
        self._inner = dataclasses.replace(
            spec, binds={**spec.binds, INSIDE: GUEST, **binds}, environment=environment
        )  # fmt: skip
        self._isolation, self._snapshot, self._checkpoint, self._adopted = isolation, snapshot, checkpoint, adopted
        self._recording = recording
        self._suspended: Checkpoint | None = None

    async def __aenter__(self) -> Self:
        """Raises SandboxFailure when the container does not start or its guest does not answer."""
        self.container = container = await self._begun()
        client = GuestClient(container.dial, self.token, self._pid(container))
        client.recording = self._recording
        self.machine = GuestMachine(client, self)
        try:
            await self.machine.__aenter__()
        except SandboxFailure as failure:
            try:
                said = container.read(f"{container.run_folder}/log").decode(errors="replace").strip()[-1000:]
            except OSError:
                said = ""
            await container.close()
            raise SandboxFailure(failure.kind, f"{failure}{said and f' ({said})'}") from failure
        except BaseException:
            await container.close()
            raise
        return self

    async def _begun(self) -> Container:
        if self._checkpoint is not None:
            return await self._isolation.restore(self._inner, self._checkpoint)
        if self._adopted:
            assert can_keep(self._isolation)
            container = await self._isolation.adopt(self._adopted, self._inner)
            await container.resume()  # the process before may have been killed while it took a copy
            return container
        command = [self._python, "-I", "-S", INSIDE, *self._isolation.guest_socket]
        return await self._isolation.launch(self._inner, command, self._snapshot, listen=True)

    def _pid(self, container: Container) -> int | None:
        """Whom a connection must lead to, where the socket lies inside."""
        return container.pid if self._isolation.name == "namespaces" else None

    def host_path(self, path: str) -> Path:
        return self.container.host_path(path)

    async def checkpoint(self, name: str, at: Callable[[], None] = lambda: None) -> Checkpoint:
        """Saves files and processes; calls wait meanwhile, and `at` is called. Raises SandboxFailure."""
        async with self.machine.client.quiesced():
            at()
            return await self.container.checkpoint(name)

    async def suspend(self, name: str) -> None:
        """Ends the container until `resume`. Raises SandboxFailure, and the computer goes on where it could not."""
        client = self.machine.client
        async with client.quiesced():
            self._suspended = await self.container.suspend(name)
            client.links.why_away = "the computer is suspended"

    @property
    def suspended(self) -> Checkpoint | None:
        """Checkpoint from which `resume` will go on."""
        return self._suspended

    async def resume(self) -> None:
        """Resumes the guest; a second call does nothing. Raises SandboxFailure; the computer is then gone, unless it is
        `suspended` as before."""
        suspended = self._suspended
        if suspended is None:
            return
        client = self.machine.client
        try:
            self.container = container = await self._isolation.restore(self._inner, suspended)
            client.move(container.dial, self._pid(container))
        except BaseException:
            if not suspended.is_whole:
                self._suspended = None
                await self._isolation.remove_checkpoint(suspended)
                await client.links.come_back()
            raise
        self._suspended = None
        await self._isolation.remove_checkpoint(suspended)
        await client.links.come_back()
        await client.call("hello")

    async def __aexit__(self, *_: object) -> None:
        try:
            await asyncio.shield(self.machine.__aexit__())
        finally:
            if self._suspended is not None:
                await asyncio.shield(self._isolation.remove_checkpoint(self._suspended))
            await asyncio.shield(self.container.close())
