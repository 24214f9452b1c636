"""Bare guests for this process's environments: a pool, each leased to one episode at a time, empty as it begins."""

from __future__ import annotations

import asyncio
import logging

from tars_jax import InputError
from tars_jax.envs.computer_episode import fill
from tars_jax.sandbox.address import SandboxAddress, host_and_port
from tars_jax.sandbox.computer.equipped.bare import BareComputer, LeasedGuest
from tars_jax.sandbox.computer.equipped.parts import ComputerSpec
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.tasks.computer.scene import ComputerScene

log = logging.getLogger(__name__)
PATIENCE_S = 120.0  # for a guest that is free and well, within the time of a reset
FIRST_S = 15.0  # for the first one of all that answers
LOOK_S = 1.0  # between two looks at guests that others have, or that did not answer


class GuestPool:
    """An `OpensComputers`. Those that other learners have, and those that do not answer, are asked again."""

    fails_whole = False

    def __init__(self, address: SandboxAddress) -> None:
        self._free, self._token = list(address.guests), address.key
        self._given_back = asyncio.Event()
        self._answered = False  # one of them has
        self.users = 0

    async def open(self, spec: ComputerSpec, scene: ComputerScene, group: str, size: int) -> BareComputer:
        """Each episode begins by itself: a bare guest cannot be copied.

        Raises InputError for a scene with applications or a site, for a guest of another version, and where none has
        ever answered.
        """
        if scene.site is not None or scene.opens:
            raise InputError("task must be one without applications and a site of ours with sandbox.guests")
        start = asyncio.get_running_loop().time()
        while True:
            self._given_back.clear()
            last: SandboxFailure | None = None
            for name in list(self._free):
                if name not in self._free:  # another episode has taken it meanwhile
                    continue
                self._free.remove(name)
                try:
                    return await self._begun(name, spec, scene)
                except SandboxFailure as failure:
                    last = failure
                    log.info("guest %s is passed over: %s", name, failure)
            waited = asyncio.get_running_loop().time() - start
            if last is not None and not self._answered and waited > FIRST_S:
                raise InputError(f"sandbox.guests must be guests that answer; got {name}: {last}")
            if waited > PATIENCE_S:
                raise SandboxFailure("held", f"no guest was free for {PATIENCE_S:g} s; {last or 'all are in use here'}")
            try:
                async with asyncio.timeout(LOOK_S):
                    await self._given_back.wait()
            except TimeoutError:
                pass

    async def _begun(self, name: str, spec: ComputerSpec, scene: ComputerScene) -> BareComputer:
        lease = None
        try:
            lease = _PoolLease(await self._taken(name), self, name)
            computer = await BareComputer.open(lease, spec)
            await fill(computer, scene)
            return computer
        except BaseException:
            if lease is not None:
                await lease.close()
            else:
                self.give_back(name)
            raise

    async def _taken(self, name: str) -> LeasedGuest:
        try:
            async with asyncio.timeout(None if self._answered else FIRST_S):
                lease = await LeasedGuest.take(*host_and_port(name), self._token)
        except TimeoutError as error:
            raise SandboxFailure("guest", f"it did not answer in {FIRST_S:g} s") from error
        except SandboxFailure as failure:
            self._answered = self._answered or failure.kind == "held"
            raise
        self._answered = True
        return lease

    def give_back(self, name: str) -> None:
        """Behind the others: all have their turns."""
        if name not in self._free:
            self._free.append(name)
        self._given_back.set()

    async def close(self) -> None:
        """Leases end with their episodes."""


class _PoolLease(LeasedGuest):
    """Its end gives the guest back to the pool."""

    def __init__(self, lease: LeasedGuest, pool: GuestPool, name: str) -> None:
        super().__init__(lease.remote, lease.name, lease.word, lease._renewing)
        self._pool = pool

    async def close(self) -> None:
        await super().close()
        self._pool.give_back(self.name)
