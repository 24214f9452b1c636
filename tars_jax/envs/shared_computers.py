"""The computers of this process's environments: one isolation of a kind for all on an event loop, and groups' starts.

The last environment that lets go ends the isolation. A group of episodes of one task begins from one prepared computer:
the first asks for it to be prepared and saved, and each opens its own from there.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import weakref
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from tars_jax.sandbox.browser import BrowserConfig, BrowserManager
from tars_jax.sandbox.browser.on_demand import OnDemandBrowsers
from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.forks import Saved
from tars_jax.sandbox.failures import SandboxFailure

MOST_SAVED = 16  # prepared computers whose groups have not all begun
# For pages upon computers: each such page has a browser of its own, as none is a single canvas.
BROWSERS = BrowserConfig(browsers=16, pages_per_browser=4)

_Prepare = Callable[[], Awaitable[Computer]]


@dataclasses.dataclass(eq=False)
class _Group:
    """A prepared computer, saved, and how many of its group are to come."""

    saved: asyncio.Task[Saved]
    left: int
    opening: int = 0


class SharedComputers:
    """Computers of one kind of isolation, on the loop that they were asked for on."""

    def __init__(self, kind: str, forks: str) -> None:
        self._computers = Computers(kind, forks)
        self._starting = asyncio.Lock()
        self._started = False
        self._browsers = OnDemandBrowsers(BROWSERS)
        self._groups: OrderedDict[str, _Group] = OrderedDict()
        self.users = 0
        self.prepared = 0  # computers that were prepared for groups

    async def entered(self) -> Computers:
        """Raises InputError where no isolation works."""
        await self._start()
        return self._computers

    async def browsers(self) -> BrowserManager:
        """Raises InputError where there is no Chromium."""
        return await self._browsers.started()

    async def open_in_group(self, key: str, size: int, prepare: _Prepare) -> Computer:
        """A computer as `prepare` makes it, once for `size` that ask with the same key. Raises SandboxFailure, too."""
        await self._start()
        group = self._groups.get(key)
        if group is None or not group.left:
            group = self._groups[key] = _Group(asyncio.create_task(self._save(prepare)), size)
            await self._forget_some()
        group.left -= 1
        group.opening += 1
        try:
            return await self._computers.open_saved(await asyncio.shield(group.saved))
        except BaseException:
            group.left = 0  # a new one is prepared for the next
            raise
        finally:
            group.opening -= 1
            if not group.left and not group.opening:
                await self._forget(key, group)

    async def _start(self) -> None:
        async with self._starting:
            if not self._started:
                await self._computers.__aenter__()
                self._started = True

    async def _save(self, prepare: _Prepare) -> Saved:
        computer = await prepare()
        try:
            self.prepared += 1
            return await computer.save()
        finally:
            await computer.close()

    async def _forget_some(self) -> None:
        """The oldest of groups that were given up: more than are played at a time."""
        for key, group in list(self._groups.items())[: max(0, len(self._groups) - MOST_SAVED)]:
            group.left = 0
            if not group.opening:
                await self._forget(key, group)

    async def _forget(self, key: str, group: _Group) -> None:
        if self._groups.get(key) is group:
            del self._groups[key]
        with contextlib.suppress(SandboxFailure):
            await (await asyncio.shield(group.saved)).remove()

    async def close(self) -> None:
        for key, group in list(self._groups.items()):
            with contextlib.suppress(Exception):
                await self._forget(key, group)
        await self._computers.__aexit__()
        await self._browsers.close()


_Loop = asyncio.AbstractEventLoop
_shared: weakref.WeakKeyDictionary[_Loop, dict[str, SharedComputers]] = weakref.WeakKeyDictionary()


def acquire(kind: str, forks: str = "auto") -> SharedComputers:
    """Those of the running loop; to be given back by `release` there."""
    of_loop = _shared.setdefault(asyncio.get_running_loop(), {})
    computers = of_loop.setdefault(kind, SharedComputers(kind, forks))
    computers.users += 1
    return computers


def discard(computers: SharedComputers) -> None:
    """They failed: whoever asks from now on gets others."""
    of_loop = _shared.get(asyncio.get_running_loop(), {})
    for kind, each in list(of_loop.items()):
        if each is computers:
            del of_loop[kind]


async def release(computers: SharedComputers) -> None:
    """The last user ends them."""
    computers.users -= 1
    if not computers.users:
        discard(computers)
        await computers.close()
