"""What a script draws: links that are buttons, what shows when pointed at, editors, dialogs that ask once more."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping

import pytest

from tars_jax.agent.actions import MoveTo, Wait
from tars_jax.data.config import ExplorationConfig
from tars_jax.data.website_synthesis.composition import FilledFunction, single_candidate
from tars_jax.data.website_synthesis.execution import execute, replay
from tars_jax.data.website_synthesis.exploration import explore
from tars_jax.data.website_synthesis.functions import SiteFunction, functions_of
from tars_jax.data.website_synthesis.reused_page import ReusedPage
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager
from tests.data.website_synthesis.drawn_site import DrawnSite

pytestmark = pytest.mark.browser


def filled(function: SiteFunction, values: Mapping[str, str]) -> FilledFunction:
    moves = [dataclasses.replace(each.move, value=values[each.label]) for each in function.fields]
    return FilledFunction(function, tuple(moves), "")


def test_functions_that_a_script_draws_are_found_and_can_be_carried_out() -> None:
    async def work() -> None:
        site = DrawnSite()
        try:
            async with BrowserManager(BrowserConfig(browsers=1, pages_per_browser=2, call_timeout_s=60)) as manager:
                await on_pages(manager, site)
        finally:
            site.close()

    async def on_pages(manager: BrowserManager, site: DrawnSite) -> None:
        explored = await explore(manager, site, ExplorationConfig(pages=2, presses=4))
        functions, dropped = functions_of(explored.pages)
        found = {(each.button, each.row, tuple(field.label for field in each.fields)) for each in functions}
        assert found == {
            ("Save", "", ("Title", "text")),  # of a new one
            ("Save", "Alder", ("Title", "text")),
            ("Save", "Birch", ("Title", "text")),
            ("Save", "", ("Body", "Message")),
        }
        assert dropped["it only brings up a form"] == 4  # New note, Edit twice, and the Save that asks for a message

        page = ReusedPage(manager, site)
        (birch,) = [each for each in functions if each.row == "Birch"]
        done = await execute(page, single_candidate(filled(birch, {"Title": "Beech", "text": "new"})).plan)
        assert {"id": "2", "title": "Beech", "text": "new", "color": "#222222"} in done.after["notes"]
        assert MoveTo in [type(each.action) for each in done.episode]  # it is not seen before

        (new,) = [each for each in functions if each.row == "" and each.fields[0].label == "Title"]
        first = await execute(page, single_candidate(filled(new, {"Title": "Cedar", "text": "third"})).plan)
        assert isinstance(first.episode[-1].action, Wait)  # it is sent some time after
        second = await replay(manager, site, [each.action for each in first.episode])
        one, other = (tables["notes"][-1] for tables in (first.after, second.after))
        assert one["title"] == other["title"] == "Cedar" and one["color"] != other["color"]  # drawn by chance

        (write,) = [each for each in functions if each.fields[0].early]
        values = {"Body": "second", "Message": "better"}
        done = await execute(page, single_candidate(filled(write, values)).plan)
        assert done.after["page"] == [{"id": "1", "body": "second", "message": "better"}]
        await page.close()

    asyncio.run(work())
