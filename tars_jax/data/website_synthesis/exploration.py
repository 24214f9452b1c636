"""Explores a site in the browser: its pages by their links, and what its buttons bring up, within a budget."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from urllib.parse import parse_qsl, unquote, urlsplit

from tars_jax.data.config import ExplorationConfig
from tars_jax.data.website_synthesis.driver import MoveFailed, PageDriver, open_driver
from tars_jax.data.website_synthesis.moves import PageMove, move_to
from tars_jax.data.website_synthesis.site import LiveSite
from tars_jax.data.website_synthesis.view import Control, View, name_of, row_of
from tars_jax.sandbox.browser import BrowserManager, PageError, SandboxFailure
from tars_jax.tasks.websites.tables import Tables, differences, steady_tables

LEAVES = re.compile(r"\b(log|sign)[ -]?(out|off)\b", re.IGNORECASE)
REMOVES = re.compile(r"\b(delete|remove|drop|purge|discard|revert|rollback)\b", re.IGNORECASE)
PROMISES = re.compile(
    r"new|add|creat|edit|prefer|compose|write|ticket|tkt|issue|page|item|entry|entries|transaction|product|project",
    re.IGNORECASE,
)
EXPLAINS = re.compile(
    r"help|docs?/|rules|about|licen[cs]e|manual|guide|special:|timeline|stat\b|diff|history|feed|setup|admin",
    re.IGNORECASE,
)
FILES = re.compile(r"\.(zip|gz|tgz|bz2|tar|pdf|png|jpe?g|gif|svg|ico|css|js|json|xml|rss|atom|ics|csv|txt|sql)$")
NUMBER = re.compile(r"\d+|[0-9a-f]{8,}")
PREVIEWS = re.compile(r"\b(preview|review|continue|next)\b", re.IGNORECASE)
SENDS = re.compile(r"\b(submit|save|create|add|post|publish|send)\b", re.IGNORECASE)
OPENS = re.compile(r"\b(new|add|create|edit|change|modify|rename|write|compose)\b", re.IGNORECASE)
BACK = re.compile(r"^(cancel|close|back|ok|undo|dismiss|×|x|✕)$", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class Explored:
    """Page that is shown after a trail of moves from the start."""

    view: View
    trail: tuple[PageMove, ...]
    names: tuple[str, ...]  # of its last links and buttons; an empty one: nothing tells it from others
    screenshot: bytes = b""  # PNG
    fresh: tuple[Control, ...] | None = None  # of what a button brought up: the controls that were not there before
    entry: str = ""  # of a list: the button that brought this up, or what did before
    before: View | None = None  # of a button that sends what stands there, and asks for more first


@dataclasses.dataclass(frozen=True)
class Exploration:
    pages: tuple[Explored, ...]
    noise: frozenset[str]  # tables of the state that change by looking alone
    dead: tuple[str, ...]  # links that led nowhere


async def explore(manager: BrowserManager, site: LiveSite, config: ExplorationConfig) -> Exploration:
    """Resets the site, explores it, and resets it again."""
    await site.reset()
    before = await steady_tables(site)
    crawler = _Crawler(manager, site, config)
    await crawler.follow_links()
    noise = _changed_tables(before, await steady_tables(site))
    await crawler.follow_links(removing=True)
    await site.reset()
    pressed: list[Explored] = []
    if config.presses:
        pressed = await _press_buttons(manager, site, crawler.pages, config)
        await site.reset()
    return Exploration((*crawler.pages, *pressed), noise, tuple(crawler.dead))


@dataclasses.dataclass(frozen=True)
class _Link:
    url: str
    trail: tuple[PageMove, ...]
    names: tuple[str, ...]


class _Crawler:
    """Opens the link whose kind of address was seen least, of those what promises a form, near the start."""

    def __init__(self, manager: BrowserManager, site: LiveSite, config: ExplorationConfig) -> None:
        self._manager, self._site, self._config = manager, site, config
        self._open: list[_Link] = []
        self._known: set[str] = set()
        self._kinds: Counter[str] = Counter()
        self.pages: list[Explored] = []
        self.dead: list[str] = []
        self._removing: list[_Link] = []

    async def follow_links(self, *, removing: bool = False) -> None:
        """Follows links; those that remove something are kept for a second call. A page that hangs costs that page
        alone."""
        if removing:
            self._open, self._removing = self._removing, []
        is_first = not removing
        while is_first or (self._open and len(self.pages) < self._config.pages):
            url = ""
            try:
                async with open_driver(self._manager, self._site) as driver:
                    if is_first:
                        self._note(await driver.view(), _Link("", (), ()), driver.screenshot)
                        is_first = False
                    while len(self.pages) < self._config.pages and (link := self._next()):
                        url = link.url
                        await driver.open(url)
                        self._note(await driver.view(), link, driver.screenshot)
            except (PageError, SandboxFailure):
                if is_first:
                    raise
                self.dead.append(url)

    def _next(self) -> _Link | None:
        while self._open:
            link = min(self._open, key=self._rank)
            self._open.remove(link)
            if self._kinds[kind_of(link.url)] < self._config.alike:
                self._kinds[kind_of(link.url)] += 1
                return link
        return None

    def _rank(self, link: _Link) -> tuple[int, int]:
        url, trail = link.url, link.trail
        said = f"{trail[-1].label} {plain(url).partition('://')[2].partition('/')[2]}"
        worth = 2 * bool(EXPLAINS.search(said)) - 2 * bool(PROMISES.search(said))
        return self._kinds[kind_of(url)] * 2 + worth + urlsplit(url).query.count("&"), len(trail)

    def _note(self, view: View, link: _Link, screenshot: bytes) -> None:
        trail = link.trail
        if is_error(view):
            self.dead.append(view.url)
            return
        if trail and view.url in {each.view.url for each in self.pages}:
            return
        self._known.add(plain(view.url))
        self.pages.append(Explored(view, trail, link.names, screenshot))
        if len(trail) >= self._config.depth:
            return
        for control in view.controls:
            if control.kind != "link" or not control.label or control.hit is False:
                continue
            url = plain(control.href)
            if url in self._known or not leads_on(view.url, control):
                continue
            self._known.add(url)
            into = self._removing if REMOVES.search(f"{control.label} {url}") else self._open
            into.append(_Link(url, (*trail, move_to(view, control)), (*link.names, name_of(view, control))))


async def _press_buttons(
    manager: BrowserManager, site: LiveSite, pages: list[Explored], config: ExplorationConfig
) -> list[Explored]:
    """Pages that buttons outside of forms bring up, a second level included."""
    found: list[Explored] = []
    seen: Counter[tuple[str, str]] = Counter()
    left = config.presses
    offers = [each for page in sorted(pages, key=_promises_a_form, reverse=True) for each in _offers(page)]
    while offers and left > 0:
        page, control = offers.pop(offers.index(max(offers, key=_worth)))  # the first of the best
        key = (kind_of(page.view.url), "" if control.entry else control.label)
        if seen[key] >= (config.alike if _opens_one_of_many(page.view, control) else 1):
            continue
        seen[key] += 1
        left -= 1
        trail = (*page.trail, move_to(page.view, control))
        try:
            await site.reset()
            async with open_driver(manager, site) as driver:
                for move in trail[:-1]:
                    await driver.make(move)
                shown = await page_behind_button(driver, page, control)
        except (MoveFailed, PageError, SandboxFailure):
            continue
        if shown is not None:
            found.append(shown)
            offers += _offers(shown) if page.fresh is None else []
    return found


async def page_behind_button(driver: PageDriver, page: Explored, button: Control) -> Explored | None:
    """Page that a button brings up; None: nothing that was not there before. Raises as `PageDriver.make`."""
    before = await driver.view()
    press = move_to(page.view, button)
    await driver.make(press)
    after = await driver.view()
    alike = [each for each in page.view.controls if each.kind == "button" and each.label == button.label]
    name = row_of(page.view, button) if len(alike) > 1 else button.label
    if not (fresh := _fresh(before, after)):
        return None
    asks = SENDS.search(button.label) is not None and kind_of(after.url) == kind_of(before.url)
    trail, names = (*page.trail, press), (*page.names, name)
    entry = button.label if button.entry else page.entry
    return Explored(after, trail, names, driver.screenshot, fresh, entry, before if asks else None)


def sends_what_is_written(view: View) -> list[Control]:
    """Buttons that belong to no form and send what stands in an editor."""
    written = any(each.kind in ("textarea", "editor") and each.form < 0 for each in view.controls)
    return [each for each in view.controls if written and _may_bring_up(view, each) and SENDS.search(each.label)]


def _offers(page: Explored) -> list[tuple[Explored, Control]]:
    controls = page.view.controls if page.fresh is None else page.fresh
    return [(page, each) for each in controls if _may_bring_up(page.view, each)]


def _worth(offer: tuple[Explored, Control]) -> bool:
    """First what says that it leads to a form or ends one."""
    return OPENS.search(offer[1].label) is not None or SENDS.search(offer[1].label) is not None


def _opens_one_of_many(view: View, button: Control) -> bool:
    """Whether its row or its form says what it opens, so that another of the same name opens something else."""
    return _leads_to_form(view, button) or button.entry or (OPENS.search(button.label) is not None and button.row != "")


def _promises_a_form(page: Explored) -> bool:
    buttons = [each for each in page.view.controls if each.kind == "button"]
    previews = any(each.form >= 0 and PREVIEWS.search(each.label) for each in buttons)
    return previews or any(_leads_to_form(page.view, each) for each in buttons)


def _leads_to_form(view: View, button: Control) -> bool:
    """A button that is a link by another name: its form asks for nothing, and for an address alone."""
    return (
        button.form >= 0 and view.forms[button.form].method == "get" and OPENS.search(button.label) is not None
        and not any(each.form == button.form for each in view.controls if not each.is_pressed)
    )  # fmt: skip


def _may_bring_up(view: View, control: Control) -> bool:
    """A button that belongs to no form, or the preview that a form asks for before it can be sent."""
    if control.kind != "button" or not control.label or control.hit is False or control.disabled:
        return False
    if _leads_to_form(view, control):
        return True
    if control.form >= 0:
        is_last = any(each.form == control.form and SENDS.search(each.label) for each in view.controls)
        return view.forms[control.form].method == "post" and bool(PREVIEWS.search(control.label)) and not is_last
    return not LEAVES.search(control.label) and not BACK.match(control.label)


def _fresh(before: View, after: View) -> tuple[Control, ...]:
    def key(control: Control) -> tuple[str, str, str, str]:
        return control.kind, control.label, control.name, control.id

    old = {key(each) for each in before.controls}
    return tuple(each for each in after.controls if key(each) not in old and each.hit is not False)


def leads_on(url: str, link: Control) -> bool:
    """Whether a link leads to another page of the same host that can be explored."""
    here, there = urlsplit(url), urlsplit(link.href)
    return (
        (there.scheme, there.netloc) == (here.scheme, here.netloc)
        and link.target in ("", "_self")
        and not LEAVES.search(f"{link.label} {there.path}")
        and not FILES.search(there.path.lower())
    )


def plain(url: str) -> str:
    return urlsplit(url)._replace(fragment="").geturl()


def kind_of(url: str) -> str:
    """An address with what tells one object from another taken out: numbers, and values of a query."""
    parts = urlsplit(url)
    path = "/".join("#" if NUMBER.fullmatch(each) else NUMBER.sub("#", each) for each in unquote(parts.path).split("/"))
    names = ",".join(sorted({name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}))
    folder, _, last = path.rpartition("/")
    return f"{folder}/{'*' if folder.count('/') >= 1 and last else last}?{names}"


def is_error(view: View) -> bool:
    """Whether a page only says that there is none, or that nobody may see it."""
    said = f"{view.title} {view.heading} {view.text[:200]}".lower()
    return any(
        words in said
        for words in ("404", "not found", "no such page", "403 forbidden", "internal server error", "access denied",
                      "permission denied", "err_", "site can’t be reached", "bad request", "method not allowed")
    )  # fmt: skip


def _changed_tables(before: Tables, after: Tables) -> frozenset[str]:
    return frozenset(each.table for each in differences(before, after))
