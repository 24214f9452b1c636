"""A desktop of this machine's that a task of OSWorld's is played on, ready as its virtual machine is."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import posixpath
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from starlette.applications import Starlette

from tars_jax.environment import EnvironmentFailure
from tars_jax.envs.benchmarks.osworld.guest import GuestProtocol, port_of, served
from tars_jax.envs.benchmarks.osworld.machines import ScreenMachine
from tars_jax.envs.benchmarks.osworld.session import prepare
from tars_jax.envs.computer_screen import DesktopScreen
from tars_jax.sandbox.computer.computer import Computers
from tars_jax.sandbox.computer.equipped.parts import ComputerSpec, EquippedComputer
from tars_jax.sandbox.desktop import Desktop, Settle
from tars_jax.sandbox.desktop.osworld import osworld_app

OPENED = Settle(first_ms=1500, quiet_ms=500, bound_ms=15_000)  # behind the steps of a task
WINDOWS_S, STILL_S = 60.0, 2.0  # for the windows of what a task launches, and without a further one
WITH_WINDOWS = frozenset((
    "google-chrome", "chromium", "vlc", "gimp", "libreoffice", "soffice", "thunderbird", "code", "nautilus", "gedit",
    "gnome-terminal", "eog", "evince", "firefox",
))  # fmt: skip


@dataclasses.dataclass(eq=False)
class NearDesktop(ScreenMachine):
    computer: EquippedComputer
    app: Starlette  # its routes

    @classmethod
    async def open(cls, computers: Computers, spec: ComputerSpec, record: Mapping[str, Any]) -> NearDesktop:
        """Raises SandboxFailure, EnvironmentFailure, InputError."""
        computer = await EquippedComputer.open(computers, spec)
        try:
            await prepare(computer, record)
        except BaseException:
            await computer.close()
            raise
        desktop = computer.desktop
        assert desktop is not None
        app = osworld_app(desktop, computer.computer.machine)
        return cls(computer, GuestProtocol.of(app), DesktopScreen(desktop), app)

    @property
    def desktop(self) -> Desktop:
        assert self.computer.desktop is not None
        return self.computer.desktop

    async def begun(self, steps: Sequence[Mapping[str, Any]]) -> None:
        """The windows of what the steps launch are there, and the screen stands still.

        Raises EnvironmentFailure where a program that has windows shows none.
        """
        if any(step["type"] in ("launch", "open") for step in steps):
            await _windows_there(self.desktop, [name for step in steps if (name := _shows_window(step))])
        await self.still()

    async def still(self) -> None:
        await self.desktop.screenshot(settle=OPENED)

    @contextlib.asynccontextmanager
    async def scored_at(self) -> AsyncIterator[tuple[str, Mapping[str, int]]]:
        async with contextlib.AsyncExitStack() as stack:
            host, server = await stack.enter_async_context(served(self.app, secrets.token_urlsafe(24)))
            ports = {"server": server}
            for name, port in (("chrome", 9222), ("vlc", 8080)):
                ports[name] = await stack.enter_async_context(port_of(self.computer.computer.machine, port))
            yield host, ports


def _shows_window(step: Mapping[str, Any]) -> str:
    """The program of a step that launches one of those with windows; else nothing."""
    command = step["parameters"].get("command") if step["type"] == "launch" else None
    words = command.split() if isinstance(command, str) else command or [""]
    name = posixpath.basename(str(words[0]))
    return name if name in WITH_WINDOWS else ""


async def _windows_there(desktop: Desktop, launched: Sequence[str]) -> None:
    """Waits until launched programs show a window and no more windows come or go; a task may also launch programs
    without one.

    The pictures that applications show while they start have no class, or say so in their titles. Raises
    EnvironmentFailure where a program that has windows shows none.
    """
    loop = asyncio.get_running_loop()
    end, seen, since = loop.time() + WINDOWS_S, None, loop.time()
    while loop.time() < end:
        shown = [(each.id, each.title) for each in await desktop.windows() if any(each.app)]
        if shown != seen:
            seen, since = shown, loop.time()
        elif shown and loop.time() - since > STILL_S and not any("Startup" in title for _, title in shown):
            return
        await asyncio.sleep(0.1)
    if launched and not seen:
        raise EnvironmentFailure("setup", f"{launched[0]} has shown no window within {WINDOWS_S:g} s")
