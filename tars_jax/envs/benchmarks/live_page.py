"""A page of the sandbox's browser over hosts that the user names: websites as they are just now.

Its time is virtual like that of every page, but what hosts answer is theirs: an episode cannot be played again to the
byte. What would open a window of its own is shown in the page, as there is one.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from tars_jax import InputError
from tars_jax.agent.actions import Action, Navigate, NavigateBack
from tars_jax.environment import Observation
from tars_jax.envs.gui import Position, acts_on_page, mouse_after, to_events
from tars_jax.sandbox import browser
from tars_jax.sandbox.browser import ActsOnPage, OpensPages, Site
from tars_jax.sandbox.computer.equipped.page import BLANK
from tars_jax.web.network import Hosts

SETTLE_MS = 1000.0  # virtual, after an action: real pages load in several goes
_numbers = itertools.count()
# A link or a form for a new window stays in this one; so does a script's. A page may have broken any of these names.
_READ = """(() => {
  const tried = (work, other) => { try { return work(); } catch (broken) { return other; } };
  tried(() => {
    const opening = document.querySelectorAll('a[target], form[target], base[target]');
    for (const each of opening) each.removeAttribute('target');
  });
  tried(() => { window.open = (address) => { if (address) location.assign(address); return window; }; });
  const at = tried(() => Number(navigation.currentEntry.index), 0);
  return { url: location.href, title: tried(() => String(document.title), ''), at };
})()"""


def check_hosts(hosts: object) -> tuple[str, ...]:
    """Raises InputError for entries that are none (`web/network.py`), and for none at all."""
    if not isinstance(hosts, list | tuple) or not hosts or not all(isinstance(each, str) for each in hosts):
        raise InputError(
            'option hosts must name the hosts that pages may reach, such as ["example.org", "*.example.org"], or ["*"] '
            f"for all of the public network; got {hosts!r:.100}"
        )
    Hosts(hosts)
    return tuple(hosts)


def address_of(website: str) -> str:
    """The address of a website, with a scheme: websites stand without one in some tasks."""
    return website if "://" in website else f"https://{website}"


def host_of(address: str) -> str:
    """The entry of an allow-list that an address needs: with its port, where it names one."""
    parts = urlsplit(address)
    name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    return f"{name}:{parts.port}" if parts.port else name


def blank() -> Site:
    """An empty page, each of its own: pages are kept for the next one of their site, with what they have stored."""
    return Site(Path(BLANK.root), f"index.html?{next(_numbers)}")


@dataclasses.dataclass
class LivePage:
    page: ActsOnPage
    hosts: Hosts
    seen: browser.PageObservation
    _last: str  # the address of a website that was shown last, which others are relative to
    begun_at: int = 0  # the place in the history behind which nobody goes back
    mouse: Position | None = None

    @classmethod
    async def open(
        cls, opens: OpensPages, hosts: Sequence[str], address: str, size: tuple[int, int], seed: int
    ) -> LivePage:
        """A page without cookies and storage that shows an address. Raises SandboxFailure."""
        return await cls.over(await opens.open_page(blank(), size=size, network=tuple(hosts)), hosts, address, seed)

    @classmethod
    async def over(cls, page: ActsOnPage, hosts: Sequence[str], address: str, seed: int) -> LivePage:
        """Opens a live page over an empty one, which is closed where that fails."""
        try:
            shown = cls(page, Hosts(hosts), await page.start("0", seed=seed, read=_READ), address)
            await shown._assign(address)
            await shown._act([], SETTLE_MS)
        except BaseException:
            await page.close()
            raise
        shown.begun_at = shown.seen.data["at"]
        return shown

    @property
    def data(self) -> Mapping[str, Any]:
        """url and title of what is shown."""
        return self.seen.data

    async def act(self, action: Action) -> str:
        """Carries out one action; what is to be said of it. Raises SandboxFailure."""
        height, width, _ = self.seen.pixels.shape
        match action:
            case Navigate(content):
                url = urljoin(self._last, address_of(content) if _is_host(content) else content)
                if not self.hosts.allows_url(url):
                    return f"navigate: {content[:200]!r} is none of the sites that can be reached here"
                await self._assign(url)
            case NavigateBack() if self.seen.data["at"] <= self.begun_at:
                return "navigate_back: there is no page to go back to"
            case NavigateBack():
                await self._soon("history.back()")
            case _ if not acts_on_page(action):
                return f"{action.name}: a browser has no such action"
        events, own_ms = to_events(action, width, height, self.mouse)
        await self._act(events, max(SETTLE_MS, own_ms))
        self.mouse = mouse_after(events, self.mouse)
        return ""

    def observed(self, text: str = "", info: Mapping[str, Any] | None = None) -> Observation:
        return Observation.decoded(self.seen.png, self.seen.pixels, text, info)

    async def close(self) -> None:
        await self.page.close()

    async def _assign(self, url: str) -> None:
        await self._soon(f"location.assign({json.dumps(url)})")

    async def _soon(self, statement: str) -> None:
        """Runs a statement once time goes on, so that whoever lets it go on sees the document that follows."""
        await self.page.evaluate(f"setTimeout(() => {{ {statement} }}, 0), 0")

    async def _act(self, events: Sequence[browser.InputEvent], advance_ms: float) -> None:
        self.seen = await self.page.act(events, advance_ms=advance_ms, read=_READ)
        if self.hosts.allows_url(self.seen.data["url"]):
            self._last = self.seen.data["url"]


def _is_host(content: str) -> bool:
    """Whether it is an address without a scheme: example.org/wiki, and not /wiki or wiki.html."""
    first = content.partition("/")[0]
    return "://" not in content and "." in first and not first.endswith((".html", ".htm", ".php"))
