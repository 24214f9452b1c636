"""Makes moves on a page with real clicks and keys, and keeps what it did as an episode of typed actions."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Sequence
from typing import Any
from urllib.parse import urljoin, urlsplit

from tars_jax.agent.actions import Action, Click, Hotkey, MoveTo, Navigate, Point, Scroll, Type, Wait
from tars_jax.data.website_synthesis.moves import HOME, PageMove, find
from tars_jax.data.website_synthesis.site import LiveSite, ShownPage
from tars_jax.data.website_synthesis.view import VIEW_SCRIPT, Control, View
from tars_jax.envs.computer_screen import PAGE_SETTLE_MS
from tars_jax.envs.gui import to_events
from tars_jax.sandbox.browser import BrowserManager, InputEvent, InsertText, is_key

PATIENCE_S = 2.0  # real, for what a click on a slow site brings
PATIENT_LOOKS = 6  # at least, however slow this machine is
MOST_SCROLLS = 30
SIZE = (1280, 720)  # of the page, pixels, as the environment has it


class MoveFailed(Exception):
    """The page has nothing that the move could be made on. `covered`: what it has, but under something else."""

    def __init__(self, said: str, covered: PageMove | None = None) -> None:
        super().__init__(said)
        self.covered = covered


@dataclasses.dataclass(frozen=True)
class Acted:
    """An action of an episode, and the screenshot that it was decided on."""

    action: Action
    screenshot: bytes  # PNG; empty where none was kept


class PageDriver:
    """A driver of one page of a site. `episode` has everything that was done on it, in order.

    `inserts`: a field is filled in at once instead of key by key, for a first try that is replayed with real keys.
    """

    def __init__(
        self, shown: ShownPage, address: str, size: tuple[int, int], *, keeps_screenshots: bool, inserts: bool = False
    ) -> None:
        self._page, self._address, self._size, self._keeps = shown, address, size, keeps_screenshots
        self._inserts = inserts
        self._shown = b""
        self.episode: list[Acted] = []

    async def view(self) -> View:
        return View.from_json(await self.evaluate(VIEW_SCRIPT))

    async def evaluate(self, script: str) -> Any:
        """Result of a script of ours on the page."""
        return await self._page.page.evaluate(script)

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""
        return self._size

    @property
    def screenshot(self) -> bytes:
        """PNG of the page when it was last acted on."""
        return self._shown

    async def open(self, url: str) -> None:
        """Goes to an address, as exploration does and no episode."""
        await self._page.navigate(url)
        await self._settle()

    async def act(self, action: Action) -> None:
        """Carries out one action. Raises what Page.act raises."""
        self.episode.append(Acted(action, self._shown if self._keeps else b""))
        if isinstance(action, Navigate):
            await self._page.navigate(urljoin(self._address, action.content))
        events, own_ms = to_events(action, *self._size)
        seen = await self._page.act(events, advance_ms=max(PAGE_SETTLE_MS, own_ms))
        self._shown = seen.png

    async def press(self, keys: Hotkey, times: int) -> None:
        """Presses the same keys several times, in the time of one action."""
        self.episode += [Acted(keys, b"")] * times
        events, own_ms = to_events(keys, *self._size)
        self._shown = (await self._page.act(events * times, advance_ms=max(PAGE_SETTLE_MS, own_ms))).png

    async def _fill(self, actions: Sequence[Action]) -> None:
        """Fills in one field: action by action, or at once in the same virtual time, the text inserted."""
        if not self._inserts or self._keeps:
            for action in actions:
                await self.act(action)
            return
        events: list[InputEvent] = []
        for action in actions:
            self.episode.append(Acted(action, b""))
            if isinstance(action, Type):
                events.append(InsertText(action.content))
            else:
                events += to_events(action, *self._size)[0]
        self._shown = (await self._page.act(events, advance_ms=PAGE_SETTLE_MS * len(actions))).png

    async def replay(self, actions: Sequence[Action]) -> None:
        """Carries out recorded actions, with nothing else than they to go by."""
        for number, action in enumerate(actions, 1):
            await self.replay_one(action, actions[number] if number < len(actions) else None)

    async def replay_one(self, action: Action, following: Action | None) -> None:
        """Replays an action, given the one after it: what a click brings is waited for, unless that goes on in its
        field."""
        await self.act(action)
        if isinstance(action, Click | Navigate) and not isinstance(following, Type | Hotkey):
            await self._settle()

    async def look(self) -> None:
        """Sees the page as it is, before the first action."""
        await self._settle()

    async def make(self, move: PageMove) -> None:
        """Makes the move. Raises MoveFailed where it cannot be made."""
        if move == HOME:
            await self.act(Navigate(urlsplit(self._address).path))
            return
        control = await self._within_reach(move)
        if control.pointed:
            await self.act(MoveTo(Point.from_pixels(control.x, control.y, *self._size)))
            control = await self._within_reach(move)
        click = Click(Point.from_pixels(control.x, control.y, *self._size))
        if move.kind == "fill":
            await self._fill([click, *([Hotkey(("ctrl", "a"))] if control.value else []), Type(move.value)])
            return
        await self.act(click)
        match move.kind:
            case "choose":
                await self.act(Type(move.value + "\n"))
                chosen = find(await self.view(), move)
                if chosen is not None and chosen.value != move.value:
                    raise MoveFailed(f"{move.label or move.name}: {move.value!r} could not be chosen")
            case "follow" | "press":
                await self._settle()

    async def _within_reach(self, move: PageMove) -> Control:
        """The control, once it can be clicked: waits for it, and scrolls to it."""
        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        waited = False
        for looks in range(MOST_SCROLLS):
            control = find(view := await self.view(), move)
            if control is None or control.disabled or control.hit is False:  # or not yet: dialogs come moving
                if asyncio.get_running_loop().time() > deadline and looks >= PATIENT_LOOKS:
                    state = "not there" if control is None else "disabled" if control.disabled else "covered"
                    said = f"{move.kind} {move.label or move.name!r} on {view.path} is {state}"
                    raise MoveFailed(said, covered=move if state == "covered" else None)
                await asyncio.sleep(0.1)
                await (self._settle() if waited else self.act(Wait()))  # a part of the solution, such as for a dialog
                waited = True
                continue
            if control.hit:
                return control
            way = "down" if control.y > 0 else "up"
            if not 0 <= control.x < view.width:
                way = "right" if control.x > 0 else "left"
            before = (control.x, control.y)
            await self.act(Scroll(Point(500, 500), way))
            moved = find(await self.view(), move)
            if moved is not None and (moved.x, moved.y) == before:
                break
        raise MoveFailed(f"{move.label or move.name!r} cannot be scrolled to")

    async def _settle(self) -> None:
        """Waits until the effect of a click is there: scripts that ask a server once the page has loaded, too."""
        self._shown = (await self._page.act((), advance_ms=PAGE_SETTLE_MS)).png


@contextlib.asynccontextmanager
async def open_driver(
    manager: BrowserManager, site: LiveSite, *, keeps_screenshots: bool = False, size: tuple[int, int] = SIZE,
    chance: int | None = None,
) -> AsyncIterator[PageDriver]:  # fmt: skip
    """A new page of the site, as an episode begins. `chance`: another seed of what the page draws by itself."""
    shown = await site.open_page(manager, size)
    try:
        driver = PageDriver(shown, site.url, size, keeps_screenshots=keeps_screenshots)
        await driver.open(site.url)
        if chance is not None:
            await shown.page.start("0", seed=chance)
        yield driver
    finally:
        await shown.close()


def can_choose(options: tuple[str, ...], option: str) -> bool:
    """Whether typing an option's label chooses it: the first that begins so, and no more than keys have."""
    typed = option.lower()
    return (
        len(set(typed)) > 1
        and all(map(is_key, option))
        and next((each for each in options if each.lower().startswith(typed)), None) == option
    )
