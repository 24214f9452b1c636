"""One episode in a computer: its scene is set up, and its state verified."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Collection
from typing import Any

from tars_jax import InputError
from tars_jax.agent.functions import check_space
from tars_jax.environment import ActionSpace
from tars_jax.envs.computer_screen import ComputerScreen, DesktopScreen, PageScreen, Position
from tars_jax.sandbox.browser import InsertText
from tars_jax.sandbox.computer.equipped.interface import ActsOnComputer, TakesScene
from tars_jax.sandbox.computer.equipped.parts import EquippedComputer
from tars_jax.sandbox.computer.equipped.saved_parts import SavedParts, save_parts
from tars_jax.sandbox.computer.walking import Sought, Unreadable
from tars_jax.sandbox.desktop import Settle
from tars_jax.tasks.computer.catalog import SceneLevel
from tars_jax.tasks.computer.scene import ComputerScene, DesktopWindow, SceneOutcome
from tars_jax.tasks.computer.site import RunningSite

# Of the home folder, what applications of a desktop keep there for themselves.
SETTINGS = (".cache", ".config", ".local", ".pki", ".dbus", ".icons", ".themes")
OPENED = Settle(first_ms=1000, quiet_ms=200)  # behind the start of applications


@dataclasses.dataclass
class BegunComputer:
    computer: ActsOnComputer
    level: SceneLevel
    site: RunningSite | None = None
    turn: int = 0  # that was not only waiting
    waited: int = 0  # turns in a row
    screen: ComputerScreen | None = None

    @classmethod
    async def begin(cls, computer: ActsOnComputer, level: SceneLevel, seed: int) -> BegunComputer:
        """Begins an episode in a computer with the files and programs of the level's scene, which ends with the
        episode.

        `seed`: of its page, if it has one. Raises InputError for what is not installed, SandboxFailure.
        """
        episode = cls(computer, level)
        try:
            await episode._set_up(seed)
            await computer.start_servers()
            _leave_out_unwritable(computer)
        except BaseException:
            await episode.close()
            raise
        return episode

    async def _set_up(self, seed: int) -> None:
        scene, computer, desktop = self.level.scene, self.computer, self.computer.desktop
        if scene.site is not None:
            self.site = await RunningSite.start(computer, scene.site)
        if desktop is not None:
            for application, *arguments in scene.opens:
                await desktop.launch(application, *arguments)
            if scene.opens:
                await desktop.screenshot(settle=OPENED)
            if scene.typed:
                await desktop.act([InsertText(scene.typed)])
            self.screen = DesktopScreen(desktop)
        if (page := computer.page) is not None:
            opened = [address for application, address in scene.opens if application == "browser"]
            self.screen = await PageScreen.open(page, seed, *opened[:1])

    def count(self, *, waited: bool) -> None:
        """A turn is over."""
        self.turn, self.waited = (self.turn, self.waited + 1) if waited else (self.turn + 1, 0)

    async def verify(self, answer: str | None) -> str:
        """Says what is still wrong. Where the task seems to be done, deleted things are sought in all places, too."""
        scene = self.level.scene
        seeking = [Sought.of(path, scene.files[path].data) for path in scene.deletes]
        return await self._judged(answer) or (await self._judged(answer, seeking) if seeking else "")

    async def _judged(self, answer: str | None, seeking: Collection[Sought] = ()) -> str:
        try:
            seen = await self.computer.outside(SETTINGS if self.computer.desktop is not None else (), seeking)
        except Unreadable as error:
            return f"the files cannot be judged: {error}"
        programs = {process.id: process.program for process in seen.processes}
        shown = tuple(DesktopWindow(title, programs.get(process or 0, "")) for title, process in seen.windows)
        requests = await self.site.requests() if self.site is not None else ()
        return self.level.verify(
            SceneOutcome(seen.files, seen.folders, answer, shown, seen.processes, seen.ports, requests, seen.elsewhere)
        )  # fmt: skip

    async def state(self, wrong: str) -> dict[str, Any]:
        """State from which a reference player plays."""
        state = self.level.state(self.turn, wrong, self.waited)
        if self.screen is not None:
            state["size"], state["windows"] = list(self.screen.size), await self.screen.windows()
        return state

    async def saved(self) -> SavedEpisode:
        """Saves this moment. Raises InputError where it cannot be had, SandboxFailure."""
        if not isinstance(self.computer, EquippedComputer):
            raise InputError("a moment must be one of a computer of this machine to be saved; got one far away")
        if self.site is not None:
            raise InputError(
                "a moment must be one without a site to be saved; got one that tells the host its requests"
            )
        mouse = self.screen.mouse if isinstance(self.screen, DesktopScreen) else None
        return SavedEpisode(await save_parts(self.computer), self.level, self.turn, self.waited, mouse)

    async def close(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(self.computer.close)
            if self.site is not None:
                await self.site.close()


@dataclasses.dataclass(frozen=True, eq=False)
class SavedEpisode:
    """A moment, from which the episode goes on as often as wanted. It lasts until `remove`."""

    parts: SavedParts
    level: SceneLevel
    turn: int
    waited: int
    mouse: Position | None = None  # on a desktop

    @property
    def bytes(self) -> int:
        """Bytes that it takes on this machine's disk."""
        return self.parts.bytes

    async def open(self) -> BegunComputer:
        """Opens a copy of the saved episode. Raises SandboxFailure."""
        computer = await self.parts.open()
        screen = None if computer.desktop is None else DesktopScreen(computer.desktop, self.mouse)
        return BegunComputer(computer, self.level, turn=self.turn, waited=self.waited, screen=screen)

    async def remove(self) -> None:
        """Removes the saved episode; a second call does nothing."""
        await self.parts.remove()


async def fill(computer: TakesScene, scene: ComputerScene) -> None:
    """The files and the programs of a scene. Raises SandboxFailure."""
    await computer.put(scene.files, scene.folders)
    for argv in scene.programs:
        await computer.start(argv)


def _leave_out_unwritable(computer: ActsOnComputer) -> None:
    """Functions of MCP servers that no grammar can write, with a word. Raises InputError where none is left."""
    for function in computer.functions:
        try:
            check_space(ActionSpace("tools", functions=(function,)))
        except InputError as error:
            computer.leave_out(function.name, str(error))
    if computer.left_out and not computer.functions:
        raise InputError(f"mcp must name a server with a tool that can be called; {computer.left_out[0]}")
