"""Does a plan on a fresh reset, and reads the site's state before and after."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import random
from collections.abc import Sequence

from tars_jax.agent.actions import Action, Wait
from tars_jax.agent.random_player import random_action
from tars_jax.data.website_synthesis.alternative_solution import WayBlocked, go_another_way
from tars_jax.data.website_synthesis.driver import Acted, MoveFailed, PageDriver, open_driver
from tars_jax.data.website_synthesis.effects import StateChange
from tars_jax.data.website_synthesis.moves import PageMove
from tars_jax.data.website_synthesis.reused_page import ReusedPage
from tars_jax.data.website_synthesis.site import LiveSite
from tars_jax.data.website_synthesis.view import View
from tars_jax.envs.gui import PAGE_ACTIONS
from tars_jax.sandbox.browser import BrowserManager, PageError, SandboxFailure
from tars_jax.tasks.websites.tables import Tables, differences, fingerprint, steady_tables

LOOKS = 8  # at the state, where nothing has changed yet
OTHER_CHANCE = 1  # of a replay: what a page draws by itself, such as colors, must not be expected of anybody
PAUSE_S = 0.25  # real, between them


@dataclasses.dataclass(frozen=True)
class PlanExecution:
    """Result of carrying out a plan."""

    before: Tables
    after: Tables
    episode: tuple[Acted, ...]
    view: View  # of the last page
    begun: datetime.datetime
    ended: datetime.datetime

    @property
    def done(self) -> StateChange:
        return StateChange(self.before, self.after, self.begun, self.ended)


async def execute(
    page: ReusedPage, plan: Sequence[PageMove], *, keeps_screenshots: bool = False, changes: bool = True
) -> PlanExecution:
    """Makes the moves by what the page shows. `changes`: the state may change some time after the last of them.

    Raises MoveFailed where one cannot be made, SandboxFailure or PageError where the page fails.
    """
    if not page.is_new:
        with contextlib.suppress(MoveFailed, PageError, SandboxFailure):
            return await _executed(page, plan, keeps_screenshots, changes)
    return await _executed(page, plan, keeps_screenshots, changes)


async def _executed(
    page: ReusedPage, plan: Sequence[PageMove], keeps_screenshots: bool, changes: bool
) -> PlanExecution:
    site = page.site
    await site.reset()
    before, begun = await steady_tables(site), now()
    async with page.driver(keeps_screenshots=keeps_screenshots) as driver:
        for move in plan:
            await driver.make(move)
        view = await driver.view()
        after = await state_after(site, before, driver) if changes else await steady_tables(site)
    return PlanExecution(before, after, tuple(driver.episode), view, begun, now())


async def replay(
    manager: BrowserManager, site: LiveSite, actions: Sequence[Action], *, reopens: bool = False
) -> PlanExecution:
    """Repeats recorded actions, which knows of no page; raises as `execute`, but for MoveFailed.

    `reopens`: the view is of the last page opened anew, which shows what was stored and not what was only sent.
    """
    await site.reset()
    before, begun = await steady_tables(site), now()
    async with open_driver(manager, site, chance=OTHER_CHANCE) as driver:
        await driver.replay(actions)
        view = await driver.view()
        if reopens:
            await driver.open(view.url)
            view = await driver.view()
        after = await state_after(site, before, driver)
    return PlanExecution(before, after, tuple(driver.episode), view, begun, now())


async def tables_changed_by_looking(site: LiveSite, after: Tables) -> frozenset[str]:
    """The tables that looking alone has changed. Resets the site."""
    await site.reset()
    return frozenset(each.table for each in differences(await steady_tables(site), after))


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


async def replay_otherwise(manager: BrowserManager, site: LiveSite, actions: Sequence[Action]) -> PlanExecution | None:
    """Does what recorded actions do in another way; None: none is known, or it came to nothing. Raises as `replay`."""
    for keys in (True, False):
        await site.reset()
        before, begun = await steady_tables(site), now()
        async with open_driver(manager, site, chance=OTHER_CHANCE) as driver:
            try:
                is_other = await go_another_way(driver, actions, keys=keys)
            except WayBlocked:
                continue
            if not is_other and not keys:
                return None
            after = await state_after(site, before, driver)
            if is_other and fingerprint(after) != fingerprint(before):
                return PlanExecution(before, after, tuple(driver.episode), await driver.view(), begun, now())
    return None


async def play_at_random(
    manager: BrowserManager, site: LiveSite, episodes: int, actions: int, seed: str
) -> list[Tables]:
    """The states that no skill at all ends in; the first is that of doing nothing."""
    found = []
    for number in range(episodes + 1):
        rng = random.Random(f"{seed}:{number}")
        await site.reset()
        before = await steady_tables(site)
        try:
            async with open_driver(manager, site) as driver:
                for _ in range(actions if number else 0):
                    await driver.act(random_action(PAGE_ACTIONS, rng))
                found.append(await state_after(site, before, driver))
        except (PageError, SandboxFailure):
            found.append(await steady_tables(site))
    await site.reset()
    return found


async def state_after(site: LiveSite, before: Tables, driver: PageDriver) -> Tables:
    """The state once it has changed, or has stayed for a while.

    Some scripts send what was done some time after. Whoever solves the task must wait for that, too: the driver's
    episode then ends with it.
    """
    for number in range(LOOKS):
        after = await steady_tables(site)
        if fingerprint(after) != fingerprint(before):
            return after
        await asyncio.sleep(PAUSE_S)
        if number:
            await driver.act(Wait())
    return await steady_tables(site)
