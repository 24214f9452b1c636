"""The screen of a computer in which a task is done by commands: a desktop with a terminal in the working folder."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tars_jax.agent.actions import Action
from tars_jax.agent.platform_prompt import PLATFORM_ACTIONS
from tars_jax.environment import GUI, ActionSpace, Function, Observation
from tars_jax.envs.computer_screen import DesktopScreen
from tars_jax.envs.interfaces import space_of
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.desktop import DesktopConfig

if TYPE_CHECKING:
    from tars_jax.sandbox.desktop import Desktop


class TerminalScreen:
    """Close it after use; what it started ends with the computer at the latest."""

    def __init__(self, desktop: Desktop) -> None:
        self._desktop, self._screen = desktop, DesktopScreen(desktop)

    @classmethod
    async def open(cls, machine: GuestMachine, config: DesktopConfig, folder: str) -> TerminalScreen:
        """Programs of the machine that are started later show their windows on it.

        Raises InputError where no terminal or X server is installed, SandboxFailure.
        """
        from tars_jax.sandbox.desktop import Desktop  # over X, whose library is an extra

        desktop = await Desktop.start(machine, config, folder=f"/tmp/.desktop-{secrets.token_hex(4)}")
        try:
            machine.variables = {**machine.variables, **desktop.env}
            await desktop.launch("terminal", cwd=folder)
        except BaseException:
            await desktop.close()
            raise
        return cls(desktop)

    async def act(self, action: Action) -> str:
        return await self._screen.act(action)

    async def observed(self, text: str, info: Mapping[str, Any]) -> Observation:
        png, pixels, more = await self._screen.shown()
        return Observation.decoded(png, pixels, "\n".join(filter(None, (text, more))), info)

    async def close(self) -> None:
        await self._desktop.close()


def action_space(interface: str, functions: Sequence[Function], always: Sequence[Function] = ()) -> ActionSpace:
    """`always`: functions that the screen alone has, too."""
    if interface == GUI:
        return ActionSpace("computer", PLATFORM_ACTIONS["computer"], tuple(always))
    return space_of(interface, "computer", PLATFORM_ACTIONS["computer"], (*functions, *always))
