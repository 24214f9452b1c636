"""The computers of this process's environments: those of one place are shared by all on an event loop.

A place is a kind of isolation on this machine, a sandbox service, or a pool of bare guests. The last environment that
lets go ends it. A group of episodes of one task begins from one prepared computer (group_starts.py).
"""

from __future__ import annotations

import asyncio
import dataclasses
import weakref
from typing import Any, Protocol

from tars_jax import InputError
from tars_jax.envs.computer_episode import fill
from tars_jax.envs.far_computers import FarComputers
from tars_jax.envs.group_starts import GroupStarts
from tars_jax.envs.guest_pool import GuestPool
from tars_jax.sandbox.address import SandboxAddress
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager
from tars_jax.sandbox.browser.manager import OnDemandBrowsers
from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.equipped.interface import ActsOnComputer
from tars_jax.sandbox.computer.equipped.parts import ComputerSpec, EquippedComputer
from tars_jax.sandbox.computer.forks import SavedComputer
from tars_jax.tasks.computer.scene import ComputerScene

# For pages upon computers: each such page has a browser of its own, as none is a single canvas.
BROWSERS = BrowserConfig(browsers=16, pages_per_browser=4)


class ComputerPlace(Protocol):
    """A place where computers are opened, on the loop that it was asked for on."""

    users: int
    fails_whole: bool  # what fails in one computer is asked of another place, and not of this one again

    async def open(self, spec: ComputerSpec, scene: ComputerScene, group: str, size: int) -> ActsOnComputer:
        """A computer with the files and programs of a scene; `size` that ask for the same `group` begin alike.

        Raises InputError for what there is not, SandboxFailure.
        """
        ...

    async def close(self) -> None: ...


class NearComputers:
    """This machine's computers of one kind of isolation."""

    fails_whole = True

    def __init__(self, kind: str, forks: str = "auto") -> None:
        self._computers = Computers(kind, forks)
        self._starting = asyncio.Lock()
        self._started = False
        self._browsers = OnDemandBrowsers(BROWSERS)
        self.groups = GroupStarts[Computer]()
        self.made: dict[str, Any] = {}  # what environments keep for each other as long as these computers live
        self.users = 0

    async def entered(self) -> Computers:
        """Raises InputError where no isolation works."""
        async with self._starting:
            if not self._started:
                await self._computers.__aenter__()
                self._started = True
        return self._computers

    async def browsers(self) -> BrowserManager:
        """Raises InputError where there is no Chromium."""
        return await self._browsers.started()

    async def open(self, spec: ComputerSpec, scene: ComputerScene, group: str, size: int) -> EquippedComputer:
        """Opens a computer; each with a desktop begins by itself."""
        computers, begun = await self.entered(), None
        if size > 1 and "desktop" not in spec.parts:
            begun = await self.groups.open(group, size, lambda: _saved(computers, spec, scene))
        browsers = await self.browsers() if spec.has_page else None
        computer = await EquippedComputer.open(computers, spec, begun, browsers, servers_later=True)
        if begun is None:
            try:
                await fill(computer, scene)
            except BaseException:
                await computer.close()
                raise
        return computer

    async def close(self) -> None:
        await self.groups.close()
        self.made.clear()
        await self._computers.__aexit__()
        await self._browsers.close()


@dataclasses.dataclass(frozen=True)
class _SavedComputer:
    """A saved computer, as a `Moment`."""

    computers: Computers
    saved: SavedComputer

    async def open(self) -> Computer:
        return await self.computers.open_saved(self.saved)

    async def remove(self) -> None:
        await self.saved.remove()


async def _saved(computers: Computers, spec: ComputerSpec, scene: ComputerScene) -> _SavedComputer:
    computer = await computers.open(spec.room)
    try:
        await fill(computer, scene)
        return _SavedComputer(computers, await computer.save())
    finally:
        await computer.close()


_Loop = asyncio.AbstractEventLoop
_near: weakref.WeakKeyDictionary[_Loop, dict[str, NearComputers]] = weakref.WeakKeyDictionary()
_far: weakref.WeakKeyDictionary[_Loop, dict[SandboxAddress, FarComputers | GuestPool]] = weakref.WeakKeyDictionary()


def acquire(kind: str, forks: str = "auto") -> NearComputers:
    """The computers of the running loop; to be given back by `release` there."""
    of_loop = _near.setdefault(asyncio.get_running_loop(), {})
    computers = of_loop.setdefault(kind, NearComputers(kind, forks))
    computers.users += 1
    return computers


def acquire_at(address: SandboxAddress | None, kind: str) -> ComputerPlace:
    """Acquires computers, wherever they are. Raises InputError for a kind of isolation of a place that has its own."""
    if address is None or not (address.service or address.guests):
        return acquire(kind)
    if kind != "auto":
        raise InputError(f"isolation must be auto with sandbox.address and sandbox.guests; got {kind!r}")
    of_loop = _far.setdefault(asyncio.get_running_loop(), {})
    if (computers := of_loop.get(address)) is None:
        computers = of_loop[address] = FarComputers(address) if address.service else GuestPool(address)
    computers.users += 1
    return computers


def discard(computers: ComputerPlace) -> None:
    """Discards computers that failed: whoever asks from now on gets others."""
    loop = asyncio.get_running_loop()
    for of_loop in (_near.get(loop, {}), _far.get(loop, {})):
        _forget(of_loop, computers)


def _forget(of_loop: dict[Any, Any], computers: ComputerPlace) -> None:
    for key in [key for key, each in of_loop.items() if each is computers]:
        del of_loop[key]


async def release(computers: ComputerPlace) -> None:
    """The last user ends them."""
    computers.users -= 1
    if not computers.users:
        discard(computers)
        await computers.close()
