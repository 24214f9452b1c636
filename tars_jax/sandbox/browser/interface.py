"""What an environment needs of browsers, whether they are in this process, leased, or behind a service far away."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

from tars_jax.sandbox.browser.events import InputEvent
from tars_jax.sandbox.browser.screenshots import Observation
from tars_jax.sandbox.browser.site import Site


class ActsOnPage(Protocol):
    """Page, Session and RemotePage have it; what the calls do and raise is written at Page."""

    async def start(self, expression: str, *, seed: int, read: str | None = None) -> Observation: ...

    async def act(
        self, events: Sequence[InputEvent], *, advance_ms: float, read: str | None = None, rate: float = math.inf
    ) -> Observation: ...

    async def evaluate(self, expression: str) -> Any: ...

    async def close(self) -> None: ...


class OpensPages(Protocol):
    """BrowserManager, Sessions and BrowserClient have it."""

    async def open_page(
        self, site: Site, *, single_canvas: bool = False, size: tuple[int, int] | None = None,
        network: Sequence[str] = (),
    ) -> ActsOnPage: ...  # fmt: skip
