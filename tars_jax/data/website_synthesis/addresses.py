"""A site that is only an address: it can be explored and filtered, and its state cannot be told."""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tars_jax import InputError
from tars_jax.sandbox.browser import BrowserManager, InputEvent, Page, PageObservation, Site
from tars_jax.sandbox.browser.site import PageSpec
from tars_jax.web.network import Hosts


@dataclasses.dataclass(frozen=True)
class AddressPage:
    """A page that may reach one host."""

    page: Page
    folder: str

    async def act(self, events: Sequence[InputEvent], *, advance_ms: float) -> PageObservation:
        return await self.page.act(events, advance_ms=advance_ms)

    async def navigate(self, address: str) -> None:
        await self.page.navigate(address)

    async def close(self) -> None:
        await self.page.close()
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclasses.dataclass(frozen=True)
class AddressSite:
    """Raises InputError for an address that no page could open."""

    url: str

    def __post_init__(self) -> None:
        parts = _split(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"address of a site must be http://HOST/ or https://HOST/; got {self.url[:200]!r}")
        Hosts(self.network)

    @property
    def network(self) -> tuple[str, ...]:
        parts = _split(self.url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        return (f"{host}:{parts.port}" if parts.port else f"{host}",)

    async def open_page(self, browsers: BrowserManager, size: tuple[int, int]) -> AddressPage:
        folder = tempfile.mkdtemp(prefix="tars_jax-nothing-")
        try:
            Path(folder, "index.html").write_text("<!doctype html>", encoding="utf-8")
            page = await browsers.open(PageSpec(Site(Path(folder)), *size, network=self.network))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return AddressPage(page, folder)

    async def reset(self) -> None:
        """Does nothing: somebody else's site stays as it is."""

    async def snapshot(self) -> Mapping[str, Any]:
        return {}


def _split(url: str) -> Any:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise InputError(f"address of a site must be http://HOST/ or https://HOST/; got {url[:200]!r}") from None
    return parts
