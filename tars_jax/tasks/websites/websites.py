"""Running sites, many at once: each has a computer of its own, copied from one that was prepared once a seed."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections import OrderedDict
from pathlib import Path
from typing import Self

from tars_jax.sandbox.computer.computer import Computer, Computers
from tars_jax.sandbox.computer.forks import SavedComputer
from tars_jax.sandbox.computer.spec import ContainerSpec
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.tasks.websites.installation import installed
from tars_jax.tasks.websites.keeper import KeeperClient
from tars_jax.tasks.websites.session import WebsiteSession
from tars_jax.tasks.websites.site import KEEPER, PROGRAMS, ROOT, Website

log = logging.getLogger(__name__)

MOST_PREPARED = 32  # seeds of sites that are kept, the last used
_OUR_PROGRAMS = Path(__file__).with_name("programs")


@dataclasses.dataclass
class _Prepared:
    """A state that sessions begin with: of a site that runs where live copies work, else its files."""

    saved: SavedComputer
    cookies: tuple[dict[str, str], ...]
    process: int


class Websites:
    """An async context manager; sessions that were not closed end with it.

    `computers`: those of somebody else, who has entered them; None: own ones. `live`: sessions go on from a copy of a
    running site, where this machine can make such copies; otherwise each starts the site's program.
    """

    def __init__(self, computers: Computers | None = None, live: bool = True) -> None:
        self._own = computers is None
        self._computers = computers or Computers()
        self._live = live
        self._prepared: OrderedDict[tuple[str, int], asyncio.Task[_Prepared]] = OrderedDict()

    async def __aenter__(self) -> Self:
        """Raises InputError where no isolation works."""
        if self._own:
            await self._computers.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        for key in list(self._prepared):
            await self._forget(key)
        if self._own:
            await self._computers.__aexit__()

    async def open(self, site: Website, seed: int = 0) -> WebsiteSession:
        """The site with the content of a seed, served, logged in and healthy.

        Raises InputError where it is not installed in its version, SandboxFailure where it does not start.
        """
        installed(site)  # as it is now, which may be later than what was prepared
        key = (repr(site), seed)  # a changed declaration is another site
        task = self._prepared.get(key)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._prepared[key] = asyncio.create_task(self._prepare(site, seed))
        self._prepared.move_to_end(key)
        prepared = await asyncio.shield(task)
        while len(self._prepared) > MOST_PREPARED:
            await self._forget(next(iter(self._prepared)))
        computer = await self._computers.open_saved(prepared.saved)
        session = _session(site, seed, computer)
        try:
            if prepared.saved.way == "live":
                session.origin, session.cookies, session._process = "live", prepared.cookies, prepared.process
                if not await session.healthy():
                    raise SandboxFailure("website", f"{site.name} does not answer in a copy of its computer")
            else:
                await session.start()
        except BaseException:
            await session.close()
            raise
        return session

    async def _prepare(self, site: Website, seed: int) -> _Prepared:
        computer = await self._computers.open(_container(site))
        session = _session(site, seed, computer)
        try:
            await session.prepare()
            if not (self._live and self._computers.forks == "live"):
                return _Prepared(await computer.save("files"), (), 0)
            await session.start()
            await session.keeper.close()
            try:
                saved = await computer.save("live")
            except SandboxFailure as failure:
                log.warning("%s starts anew for each session, as it cannot be copied live: %s", site.name, failure)
                await session._end()
                await session.reset()
                return _Prepared(await computer.save("files"), (), 0)
            return _Prepared(saved, tuple(map(dict, session.cookies)), session._process)
        finally:
            await session.close()

    async def _forget(self, key: tuple[str, int]) -> None:
        task = self._prepared.pop(key)
        try:
            prepared = await task
        except (Exception, asyncio.CancelledError):  # whoever asked for it has been told
            return
        await prepared.saved.remove()


def _session(site: Website, seed: int, computer: Computer) -> WebsiteSession:
    return WebsiteSession(site, seed, computer, KeeperClient(computer.machine, site))


def _container(site: Website) -> ContainerSpec:
    programs = Path(site.programs) if site.programs else _OUR_PROGRAMS
    binds = {ROOT: installed(site), PROGRAMS: programs, KEEPER: _OUR_PROGRAMS / "keeper"}
    return ContainerSpec(memory_mib=site.memory_mib, binds=binds)
