"""Bare guests (launch/windows_guest.py) as machines that WindowsAgentArena's tasks are played on."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Mapping
from typing import TextIO

from starlette.applications import Starlette

from tars_jax.envs.benchmarks.osworld.guest import GuestProtocol, served
from tars_jax.envs.benchmarks.osworld.machines import ScreenMachine
from tars_jax.envs.benchmarks.windows_agent_arena.guest_app import guest_app
from tars_jax.envs.computer_screen import DesktopScreen
from tars_jax.sandbox.address import host_and_port
from tars_jax.sandbox.computer.equipped.bare import BareComputer, GuestLease
from tars_jax.sandbox.computer.equipped.parts import ComputerSpec


@dataclasses.dataclass(eq=False)
class BareGuest(ScreenMachine):
    """A guest by its own screen and hands."""

    app: Starlette  # its routes
    lock: TextIO
    system: str  # as Python calls it: win32, linux

    @classmethod
    async def open(cls, name: str, lock: TextIO, *, token: str, tools: tuple[str, ...], screen: bool) -> BareGuest:
        """Raises SandboxFailure: "held" where another has it; InputError for a guest of another version or token."""
        lease = await GuestLease.take(*host_and_port(name), token)
        try:
            await lease.remote.client.call("reset")
            hello, _ = await lease.remote.client.call("hello")
        except BaseException:
            await lease.close()
            raise
        parts = (*(("shell",) if tools else ()), *(("desktop",) if screen else ()))
        computer = await BareComputer.open(lease, ComputerSpec(parts, tools))  # which closes the lease where it fails
        system = str(hello["system"])
        app, desktop = guest_app(lease.remote, system), computer.desktop
        return cls(computer, GuestProtocol.of(app), DesktopScreen(desktop) if desktop else None, app, lock, system)

    @contextlib.asynccontextmanager
    async def scored_at(self) -> AsyncIterator[tuple[str, Mapping[str, int]]]:
        async with served(self.app) as (host, port):
            yield host, {"server": port}

    async def close(self) -> None:
        try:
            await super().close()
        finally:
            self.lock.close()
