"""One episode in a computer: its scene is set up, and its state read for the verdict."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tars_jax import InputError
from tars_jax.agent.actions import FUNCTIONS as GUI_ACTIONS
from tars_jax.agent.functions import check_space
from tars_jax.environment import ActionSpace
from tars_jax.envs.computer_screen import DesktopScreen, PageScreen, Screen
from tars_jax.sandbox.browser import BrowserManager, InsertText
from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.home import Unreadable
from tars_jax.sandbox.computer.parts import ComputerSpec, EquippedComputer
from tars_jax.sandbox.tools.mcp.spec import ServerSpec
from tars_jax.tasks.computer.catalog import Level
from tars_jax.tasks.computer.scene import Outcome, Scene, Shown
from tars_jax.tasks.computer.site import RunningSite

if TYPE_CHECKING:
    from tars_jax.sandbox.tools.mcp.functions import ForeignTools

# Of the home folder, what applications of a desktop keep there for themselves.
SETTINGS = (".cache", ".config", ".local", ".pki", ".dbus", ".icons", ".themes")


@dataclasses.dataclass
class Episode:
    equipped: EquippedComputer
    level: Level
    site: RunningSite | None = None
    turn: int = 0  # that was not only waiting
    waited: int = 0  # turns in a row
    screen: Screen | None = None
    foreign: ForeignTools | None = None  # functions of MCP servers

    @classmethod
    async def begin(
        cls, computers: Computers, spec: ComputerSpec, level: Level, servers: Sequence[ServerSpec],
        computer: Computer | None = None, browsers: BrowserManager | None = None, seed: int = 0,
    ) -> Episode:  # fmt: skip
        """A computer with the scene of a level. Raises InputError for what is not installed, SandboxFailure.

        `computer`: one that is `prepared`, which ends with the episode. `browsers`, `seed`: of its page, if it has one.
        """
        episode = cls(await EquippedComputer.open(computers, spec, computer, browsers), level)
        try:
            if computer is None:
                await _fill(episode.equipped.computer, level.scene)
            await episode._set_up(seed)
            if servers:
                episode.foreign = await _foreign(episode.equipped, servers, spec.tools)
        except BaseException:
            await episode.close()
            raise
        return episode

    async def _set_up(self, seed: int) -> None:
        scene, computer, desktop = self.level.scene, self.equipped.computer, self.equipped.desktop
        if scene.site is not None:
            self.site = await RunningSite.start(computer.machine, scene.site)
        if desktop is not None:
            for application, *arguments in scene.opens:
                await desktop.launch(application, *arguments)
            if scene.opens:
                await desktop.screenshot(settle=dataclasses.replace(desktop.config.settle, first_ms=1000, quiet_ms=200))
            if scene.typed:
                await desktop.act([InsertText(scene.typed)])
            self.screen = DesktopScreen(desktop)
        if (page := self.equipped.page) is not None:
            opened = [address for application, address in scene.opens if application == "browser"]
            self.screen = await PageScreen.open(page, seed, *opened[:1])

    def count(self, *, waited: bool) -> None:
        """A turn is over."""
        self.turn, self.waited = (self.turn, self.waited + 1) if waited else (self.turn + 1, 0)

    async def verdict(self, answer: str | None) -> str:
        """What is still wrong."""
        computer, desktop = self.equipped.computer, self.equipped.desktop
        try:
            files, folders = await computer.home(SETTINGS if desktop is not None else ())
        except Unreadable as error:
            return f"the home folder cannot be judged: {error}"
        processes = await computer.processes()
        programs = {process.id: process.program for process in processes}
        windows = await desktop.windows() if desktop is not None else []
        shown = tuple(Shown(window.title, programs.get(window.process or 0, "")) for window in windows)
        requests = tuple(self.site.requests) if self.site is not None else ()
        ports = await computer.ports()
        return self.level.verdict(Outcome(files, folders, answer, shown, tuple(processes), ports, requests))

    async def state(self, wrong: str) -> dict[str, Any]:
        """What a reference player plays from."""
        state = self.level.state(self.turn, wrong, self.waited)
        if self.screen is not None:
            state["size"], state["windows"] = list(self.screen.size), await self.screen.windows()
        return state

    async def close(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(self.equipped.close)
            if self.foreign is not None:
                stack.push_async_callback(self.foreign.__aexit__)
            if self.site is not None:
                await self.site.close()


async def prepared(computers: Computers, spec: ComputerSpec, scene: Scene) -> Computer:
    """A computer with the files and the programs of a scene. Raises SandboxFailure."""
    computer = await computers.open(spec.room)
    try:
        await _fill(computer, scene)
    except BaseException:
        await computer.close()
        raise
    return computer


async def _fill(computer: Computer, scene: Scene) -> None:
    await computer.put(scene.files, scene.folders)
    for argv in scene.programs:
        await computer.machine.start(argv)


async def _foreign(equipped: EquippedComputer, servers: Sequence[ServerSpec], tools: Sequence[str]) -> ForeignTools:
    """MCP servers, started before the agent acts. Functions that no grammar can write are left out, with a word.

    Raises InputError where none is left.
    """
    from tars_jax.sandbox.tools.mcp.functions import ForeignTools

    foreign = ForeignTools(equipped.computer.machine, servers, (*GUI_ACTIONS, *tools))
    await foreign.__aenter__()
    try:
        for function in foreign.functions:
            try:
                check_space(ActionSpace("tools", functions=(function,)))
            except InputError as error:
                foreign.leave_out(function.name, str(error))
        if foreign.left_out and not foreign.functions:
            raise InputError(f"mcp must name a server with a tool that can be called; {foreign.left_out[0]}")
    except BaseException:
        await foreign.__aexit__()
        raise
    return foreign
