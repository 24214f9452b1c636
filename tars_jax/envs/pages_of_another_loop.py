"""Pages of browsers that run on another event loop, for an environment that has a loop of its own."""

from __future__ import annotations

import asyncio
import dataclasses
import math
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from tars_jax.sandbox.browser import ActsOnPage, InputEvent, OpensPages, PageObservation, Site

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class PagesOfAnotherLoop:
    """Opens pages of `opener`, which runs on `loop`; what it raises passes through."""

    opener: OpensPages
    loop: asyncio.AbstractEventLoop

    async def open_page(
        self, site: Site, *, single_canvas: bool = False, size: tuple[int, int] | None = None,
        network: Sequence[str] = (),
    ) -> ActsOnPage:  # fmt: skip
        opening = self.opener.open_page(site, single_canvas=single_canvas, size=size, network=network)
        return _PageOfAnotherLoop(await _on(self.loop, opening), self.loop)


@dataclasses.dataclass(frozen=True)
class _PageOfAnotherLoop:
    page: ActsOnPage
    loop: asyncio.AbstractEventLoop

    async def start(self, expression: str, *, seed: int, read: str | None = None) -> PageObservation:
        return await _on(self.loop, self.page.start(expression, seed=seed, read=read))

    async def act(
        self, events: Sequence[InputEvent], *, advance_ms: float, read: str | None = None, rate: float = math.inf
    ) -> PageObservation:
        return await _on(self.loop, self.page.act(events, advance_ms=advance_ms, read=read, rate=rate))

    async def evaluate(self, expression: str) -> Any:
        return await _on(self.loop, self.page.evaluate(expression))

    async def close(self) -> None:
        await _on(self.loop, self.page.close())


async def _on(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))
