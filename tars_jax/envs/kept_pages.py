"""Pages between two episodes, kept for the next one of the same site: opening one costs a process of the browser."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import math
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from tars_jax.envs.quota_retry import retry_on_quota
from tars_jax.sandbox.browser import ActsOnPage, InputEvent, OpensPages, PageObservation, Site

_Kind = tuple[Site, bool, tuple[int, int] | None, tuple[str, ...]]


class KeptPages:
    """Opens pages of another opener; one that is closed in good order waits for the next call of its kind.

    An episode begins with `start`, which resets the clock, chance and the game, so a page may play several. A page
    whose last call did not come back whole is closed, and all that wait with it: what broke it may have broken them.

    Args:
        opener: of the pages; what it raises passes through.
        most: pages open at once, those that wait included. Where one more is asked for, that which has waited longest
            is closed; with all of them in use it is the opener who makes the caller wait. Where a service gives its
            owner no further session, they give way, too.
        idle_seconds: a page that has waited so long is closed; None: it waits for ever.
    """

    def __init__(self, opener: OpensPages, most: int, idle_seconds: float | None = None) -> None:
        self._opener, self._most, self._idle_seconds = opener, most, idle_seconds
        self._waiting: list[_Waiting] = []  # the longest first
        self._used = 0
        self._closing: set[asyncio.Task[None]] = set()

    async def open_page(
        self, site: Site, *, single_canvas: bool = False, size: tuple[int, int] | None = None,
        network: Sequence[str] = (),
    ) -> ActsOnPage:  # fmt: skip
        kind = site, single_canvas, size, tuple(network)
        self._used += 1
        try:
            page = self._take(kind)
            if page is None:
                while self._waiting and self._used + len(self._waiting) > self._most:
                    await self._give_up_one()
                page = await retry_on_quota(
                    functools.partial(
                        self._opener.open_page, site, single_canvas=single_canvas, size=size, network=network
                    ),
                    self._give_up_one,
                )
        except BaseException:
            self._used -= 1
            raise
        return _KeptPage(page, functools.partial(self._back, kind, page))

    async def _give_up_one(self) -> None:
        if self._waiting:
            await self._waiting.pop(0).page.close()

    def _take(self, kind: _Kind) -> ActsOnPage | None:
        place = next((place for place, each in enumerate(self._waiting) if each.kind == kind), None)
        return None if place is None else self._waiting.pop(place).page

    async def _back(self, kind: _Kind, page: ActsOnPage, whole: bool) -> None:
        self._used -= 1
        if whole:
            self._waiting.append(_Waiting(kind, page, time.monotonic()))
            if self._idle_seconds is not None:
                asyncio.get_running_loop().call_later(self._idle_seconds, self._expire, self._idle_seconds)
            return
        broken, self._waiting = [page, *(each.page for each in self._waiting)], []
        for each in broken:
            await each.close()

    def _expire(self, idle_seconds: float) -> None:
        """Lets those go that nobody has asked for since."""
        last = time.monotonic() - idle_seconds
        while self._waiting and self._waiting[0].since <= last:
            closing = asyncio.ensure_future(self._waiting.pop(0).page.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)


@dataclasses.dataclass(frozen=True)
class _Waiting:
    kind: _Kind
    page: ActsOnPage
    since: float  # of the monotonic clock


class _KeptPage:
    """A page on loan."""

    def __init__(self, page: ActsOnPage, back: Callable[[bool], Awaitable[None]]) -> None:
        self._page, self._back = page, back
        self._whole, self._open = True, True

    async def start(self, expression: str, *, seed: int, read: str | None = None) -> PageObservation:
        with self._using():
            return await self._page.start(expression, seed=seed, read=read)

    async def act(
        self, events: Sequence[InputEvent], *, advance_ms: float, read: str | None = None, rate: float = math.inf
    ) -> PageObservation:
        with self._using():
            return await self._page.act(events, advance_ms=advance_ms, read=read, rate=rate)

    async def evaluate(self, expression: str) -> Any:
        with self._using():
            return await self._page.evaluate(expression)

    async def close(self) -> None:
        if self._open:
            self._open = False
            await self._back(self._whole)

    @contextlib.contextmanager
    def _using(self) -> Iterator[None]:
        if not self._open:
            raise RuntimeError("the page is closed")
        self._whole = False
        yield
        self._whole = True
