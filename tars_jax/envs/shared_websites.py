"""The running sites of this process's environments: one that an episode gives back serves the next of its kind.

Each belongs to one episode at a time. What waits is put back as it was, in milliseconds, when the next takes it.
"""

from __future__ import annotations

import asyncio
import contextlib
import weakref

from tars_jax.envs import shared_computers
from tars_jax.sandbox.browser import BrowserManager
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.tasks.websites.session import WebsiteSession
from tars_jax.tasks.websites.site import Website
from tars_jax.tasks.websites.websites import Websites

MOST_WAITING = 16  # sessions that nobody has just now; the one that waits longest goes first


class SharedWebsites:
    """Sites on the loop that they were asked for on, over its shared computers."""

    def __init__(self, kind: str) -> None:
        self._computers = shared_computers.acquire(kind)
        self._websites: Websites | None = None
        self._waiting: list[WebsiteSession] = []
        self.users = 0

    async def take(self, site: Website, seed: int) -> WebsiteSession:
        """A site as its seed says. Raises InputError where it is not installed, SandboxFailure."""
        for session in [each for each in self._waiting if (each.site, each.seed) == (site, seed)]:
            self._waiting.remove(session)
            try:
                await session.reset()
                if await session.healthy():
                    return session
            except SandboxFailure:
                pass
            except BaseException:
                await session.close()
                raise
            await session.close()
        if self._websites is None:
            self._websites = Websites(await self._computers.entered())
        return await self._websites.open(site, seed)

    async def give_back(self, session: WebsiteSession, *, whole: bool) -> None:
        """`whole`: nothing of it has failed."""
        if not whole:
            await session.close()
            return
        self._waiting.append(session)
        while len(self._waiting) > MOST_WAITING:
            await self._waiting.pop(0).close()

    async def browsers(self) -> BrowserManager:
        """Raises InputError where there is no Chromium."""
        return await self._computers.browsers()

    async def close(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(shared_computers.release, self._computers)
            if self._websites is not None:
                stack.push_async_callback(self._websites.__aexit__)
            for session in self._waiting:
                stack.push_async_callback(session.close)
            self._waiting = []

    def discard(self) -> None:
        """Discards websites whose computers failed: whoever asks from now on gets others."""
        shared_computers.discard(self._computers)
        of_loop = _shared.get(asyncio.get_running_loop(), {})
        for kind, each in list(of_loop.items()):
            if each is self:
                del of_loop[kind]


_shared: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, SharedWebsites]] = weakref.WeakKeyDictionary()


def acquire(kind: str) -> SharedWebsites:
    """The websites of the running loop; to be given back by `release` there."""
    of_loop = _shared.setdefault(asyncio.get_running_loop(), {})
    websites = of_loop.get(kind)
    if websites is None:
        websites = of_loop[kind] = SharedWebsites(kind)
    websites.users += 1
    return websites


async def release(websites: SharedWebsites) -> None:
    """The last user ends them."""
    websites.users -= 1
    if not websites.users:
        of_loop = _shared.get(asyncio.get_running_loop(), {})
        for kind, each in list(of_loop.items()):
            if each is websites:
                del of_loop[kind]
        await websites.close()
