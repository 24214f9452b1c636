"""A guest inside a container: the machine that the parts of an isolated computer run on."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import secrets
import shutil
import sys
import time
from pathlib import Path
from typing import Self

from tars_jax.sandbox.computer.container import Container, Isolation, Snapshot
from tars_jax.sandbox.computer.guest_client import GuestClient, GuestMachine
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.failures import SandboxFailure

GUEST, INSIDE = Path(__file__).with_name("guest"), "/opt/tars_jax/guest"
_LISTEN_S = 30.0


class ContainedGuest:
    """Use as an async context manager: `machine` is then ready, in `container`. Its end is the container's."""

    container: Container
    machine: GuestMachine

    def __init__(self, isolation: Isolation, spec: ContainerSpec, snapshot: Snapshot | None = None) -> None:
        """The guest runs on the system's Python, or on this one, which the container then shows, too."""
        python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
        binds = {**spec.binds, INSIDE: GUEST}
        if python is None:
            python = os.path.realpath(sys.executable)
            binds[sys.base_prefix] = Path(sys.base_prefix)
        self._token = secrets.token_hex(16)
        environment = {**spec.environment, "TARS_GUEST_TOKEN": self._token}
        self._spec = dataclasses.replace(spec, binds=binds, environment=environment)
        self._isolation, self._python, self._snapshot = isolation, python, snapshot

    async def __aenter__(self) -> Self:
        """Raises SandboxFailure when the container does not start or its guest does not answer."""
        folder = "/run/agent"
        command = [self._python, "-I", "-S", INSIDE, f"{folder}/guest", "home=/home/agent"]
        self.container = container = await self._isolation.launch(self._spec, command, self._snapshot)
        client = GuestClient(lambda: container.connect(f"{folder}/guest"), self._token, container.pid)
        self.machine = GuestMachine(client, container)
        try:
            await self._until_it_listens()
            await self.machine.__aenter__()
        except BaseException:
            await container.close()
            raise
        return self

    async def _until_it_listens(self) -> None:
        until = time.monotonic() + _LISTEN_S
        while time.monotonic() < until:
            try:
                (await self.container.connect(f"{self.container.run_folder}/guest")).close()
                return
            except OSError:
                if await self.container.wait(0.002) is not None:
                    break
        said = self.container.read(f"{self.container.run_folder}/log").decode(errors="replace")
        raise SandboxFailure("guest", f"it does not listen in its container: {said.strip()[-1000:]}")

    async def __aexit__(self, *_: object) -> None:
        try:
            await asyncio.shield(self.machine.__aexit__())
        finally:
            await asyncio.shield(self.container.close())
