"""Interface of a website that synthesis needs: pages, a reset, and its state. A session of `tars_jax.tasks.websites`
has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tars_jax.sandbox.browser import BrowserManager, InputEvent, Page, PageObservation


class ShownPage(Protocol):
    """A page of the sandbox's browser upon a site; what calls raise is written at Page."""

    @property
    def page(self) -> Page: ...

    async def act(self, events: Sequence[InputEvent], *, advance_ms: float) -> PageObservation: ...

    async def navigate(self, address: str) -> None: ...

    async def close(self) -> None: ...


class LiveSite(Protocol):
    """A running website that belongs to whoever makes tasks of it, for as long as that takes."""

    @property
    def url(self) -> str:
        """Address of the page that an episode begins with."""
        ...

    async def open_page(self, browsers: BrowserManager, size: tuple[int, int]) -> ShownPage:
        """An empty page of `size` pixels that may open the site, logged in."""
        ...

    async def reset(self) -> Any:
        """Puts the site's state back to what every episode begins with."""
        ...

    async def snapshot(self) -> Mapping[str, Any]:
        """The site's state, JSON, for verification alone."""
        ...
