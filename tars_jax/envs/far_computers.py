"""Computers of a sandbox service for this process's environments, by one client."""

from __future__ import annotations

import asyncio
import dataclasses

from tars_jax.envs.computer_episode import fill
from tars_jax.envs.group_starts import GroupStarts
from tars_jax.sandbox.address import SandboxAddress
from tars_jax.sandbox.computer.parts import ComputerSpec
from tars_jax.sandbox.service.computers.client import ComputerClient
from tars_jax.sandbox.service.computers.far import FarComputer, open_far
from tars_jax.tasks.computer.scene import Scene

PATIENCE_S = 60.0  # that a service may be away, within the time of a reset or a step
PERSON_S = 60.0  # that a call waits for a person who has taken the computer over


class FarComputers:
    """An `OpensComputers`. A session that fails says nothing of the service: the next may be on another node."""

    fails_whole = False

    def __init__(self, address: SandboxAddress) -> None:
        self._client = ComputerClient(address.service, address.key, patience_s=PATIENCE_S, person_s=PERSON_S)
        self._starting = asyncio.Lock()
        self._started = False
        self.groups = GroupStarts[FarComputer]()
        self.users = 0

    async def open(self, spec: ComputerSpec, scene: Scene, group: str, size: int) -> FarComputer:
        """Those with a desktop begin by themselves each, as near ones do."""
        client = await self._entered()
        if size > 1 and "desktop" not in spec.parts:
            return await self.groups.open(group, size, lambda: _prepared(client, spec, scene))
        return await _filled(client, spec, scene)

    async def _entered(self) -> ComputerClient:
        """Raises InputError for a key that the service does not know, SandboxFailure where there is none."""
        async with self._starting:
            if not self._started:
                await self._client.start()
                self._started = True
        return self._client

    async def close(self) -> None:
        await self.groups.close()
        if self._started:
            await self._client.close()


@dataclasses.dataclass(frozen=True)
class _PreparedSession:
    """A `Moment`: a session in which nobody acts, leased from its node as any other, and forked there."""

    computer: FarComputer

    async def open(self) -> FarComputer:
        return await self.computer.forked()

    async def remove(self) -> None:
        await self.computer.close()


async def _prepared(client: ComputerClient, spec: ComputerSpec, scene: Scene) -> _PreparedSession:
    return _PreparedSession(await _filled(client, spec, scene))


async def _filled(client: ComputerClient, spec: ComputerSpec, scene: Scene) -> FarComputer:
    computer = await open_far(client, spec)
    try:
        await fill(computer, scene)
    except BaseException:
        await computer.close()
        raise
    return computer
