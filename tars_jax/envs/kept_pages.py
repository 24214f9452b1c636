"""Pages between two episodes, kept for the next one of the same site: opening one costs a process of the browser."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from tars_jax.sandbox.browser import ActsOnPage, InputEvent, Observation, OpensPages, Site

_Kind = tuple[Site, bool, tuple[int, int] | None, tuple[str, ...]]


class KeptPages:
    """Opens pages of another opener; one that is closed in good order waits for the next call of its kind.

    An episode begins with `start`, which resets the clock, chance and the game, so a page may play several. A page
    whose last call did not come back whole is closed, and all that wait with it: what broke it may have broken them.

    Args:
        opener: of the pages; what it raises passes through.
        most: pages open at once, those that wait included. Where one more is asked for, that which has waited longest
            is closed; with all of them in use it is the opener who makes the caller wait.
    """

    def __init__(self, opener: OpensPages, most: int) -> None:
        self._opener, self._most = opener, most
        self._waiting: list[tuple[_Kind, ActsOnPage]] = []  # the longest first
        self._used = 0

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
                    await self._waiting.pop(0)[1].close()
                page = await self._opener.open_page(site, single_canvas=single_canvas, size=size, network=network)
        except BaseException:
            self._used -= 1
            raise
        return _KeptPage(page, functools.partial(self._back, kind, page))

    def _take(self, kind: _Kind) -> ActsOnPage | None:
        place = next((place for place, (other, _) in enumerate(self._waiting) if other == kind), None)
        return None if place is None else self._waiting.pop(place)[1]

    async def _back(self, kind: _Kind, page: ActsOnPage, whole: bool) -> None:
        self._used -= 1
        if whole:
            self._waiting.append((kind, page))
            return
        broken, self._waiting = [page, *(each for _, each in self._waiting)], []
        for each in broken:
            await each.close()


class _KeptPage:
    """A page on loan."""

    def __init__(self, page: ActsOnPage, back: Callable[[bool], Awaitable[None]]) -> None:
        self._page, self._back = page, back
        self._whole, self._open = True, True

    async def start(self, expression: str, *, seed: int, read: str | None = None) -> Observation:
        with self._using():
            return await self._page.start(expression, seed=seed, read=read)

    async def act(
        self, events: Sequence[InputEvent], *, advance_ms: float, read: str | None = None, rate: float = math.inf
    ) -> Observation:
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
