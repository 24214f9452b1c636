"""Computers of a sandbox service for this process's environments, by one client."""

from __future__ import annotations

import asyncio
import dataclasses

from tars_jax import InputError
from tars_jax.envs.computer_episode import fill
from tars_jax.envs.group_starts import GroupStarts
from tars_jax.envs.quota_retry import retry_on_quota
from tars_jax.sandbox.address import SandboxAddress
from tars_jax.sandbox.computer.equipped.parts import ComputerSpec
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.computers.client import ComputerClient
from tars_jax.sandbox.service.computers.far_computer import FarComputer, open_far
from tars_jax.tasks.computer.scene import ComputerScene

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

    async def open(self, spec: ComputerSpec, scene: ComputerScene, group: str, size: int) -> FarComputer:
        """Opens a remote computer; each with a desktop begins by itself, as local ones do."""
        client = await self._entered()
        if size > 1 and "desktop" not in spec.parts:
            return await self.groups.open(group, size, lambda: self._prepared(client, spec, scene))
        return await self._filled(client, spec, scene)

    async def _prepared(self, client: ComputerClient, spec: ComputerSpec, scene: ComputerScene) -> _PreparedSession:
        return _PreparedSession(self.groups, await self._filled(client, spec, scene))

    async def _filled(self, client: ComputerClient, spec: ComputerSpec, scene: ComputerScene) -> FarComputer:
        try:
            computer = await retry_on_quota(lambda: open_far(client, spec), self.groups.give_up_one)
        except SandboxFailure as failure:
            if failure.kind == "held":  # without one session nothing can be played
                raise InputError(f"sandbox.key_file must be of an owner with more sessions; {failure}") from failure
            raise
        try:
            await fill(computer, scene)
        except BaseException:
            await computer.close()
            raise
        return computer

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

    groups: GroupStarts[FarComputer]
    computer: FarComputer

    async def open(self) -> FarComputer:
        return await retry_on_quota(self.computer.forked, self.groups.give_up_one)

    async def remove(self) -> None:
        await self.computer.close()
