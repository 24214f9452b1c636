"""A page over the hosts of a user's own sites, in the form of a page upon a computer."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from tars_jax import InputError
from tars_jax.sandbox.browser import BrowserManager, InputEvent, Observation, Site
from tars_jax.sandbox.browser.page import Page
from tars_jax.sandbox.browser.site import PageSpec
from tars_jax.sandbox.computer.page import BLANK
from tars_jax.web.network import Hosts

_READ = """(() => {
  for (const each of document.querySelectorAll('a[target], form[target], base[target]')) each.removeAttribute('target');
  window.open = (address) => { if (address) location.assign(address); return window; };
  return { title: document.title, url: location.href, dialog: '' };
})()"""
_numbers = itertools.count()


def host_of(address: str) -> str:
    """The entry of an allow-list that an address needs: with its port, where it names one."""
    parts = urlsplit(address)
    name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    return f"{name}:{parts.port}" if parts.port else name


class HostsPage:
    """Until `close`; calls are those of `ComputerPage`."""

    def __init__(self, page: Page, hosts: Hosts) -> None:
        self.page, self._hosts = page, hosts

    @classmethod
    async def open(
        cls, browsers: BrowserManager, hosts: Sequence[str], size: tuple[int, int],
        storage: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None,
    ) -> HostsPage:  # fmt: skip
        """An empty page; `storage`: cookies and local storage, as Playwright writes them. Raises SandboxFailure."""
        blank = Site(BLANK.root, f"index.html?{next(_numbers)}")
        spec = PageSpec(blank, *size, network=tuple(hosts), storage=storage, accepts_dialogs=True)
        page = await browsers.open(spec)
        if headers:
            await page.context.set_extra_http_headers(dict(headers))
        return cls(page, Hosts(hosts))

    async def start(self, *, seed: int) -> Observation:
        return await self.page.start("0", seed=seed, read=_READ)

    async def act(self, events: Sequence[InputEvent], *, advance_ms: float) -> Observation:
        return await self.page.act(events, advance_ms=advance_ms, read=_READ)

    async def navigate(self, address: str) -> None:
        url = address if "://" in address else f"http://{address}"
        if not self._hosts.allows_url(url):
            raise InputError(f"address must be one of the task's sites; got {address!r:.200}")
        await self.page.navigate(url)

    async def back(self) -> None:
        await self.page.evaluate("setTimeout(() => history.back(), 0), 0")

    async def choose_files(self, paths: Sequence[str]) -> None:
        raise InputError("a page over websites must be given no files")

    async def close(self) -> None:
        await self.page.close()
