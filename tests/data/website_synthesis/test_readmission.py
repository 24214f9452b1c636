"""A task that was made before is made anew from its recorded solution: on a small real site, in a real Chromium."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

from tars_jax.agent.actions import Action, Click, Hotkey, Point, Scroll, Type
from tars_jax.agent.grammar_text import format_call
from tars_jax.data.website_synthesis.admission import UNNAMED, Grounds
from tars_jax.data.website_synthesis.alternative_solution import WayPart, parts_of, reordered
from tars_jax.data.website_synthesis.effects import NoCheck
from tars_jax.data.website_synthesis.execution import execute
from tars_jax.data.website_synthesis.journal import OutcomeJournal
from tars_jax.data.website_synthesis.moves import PageMove
from tars_jax.data.website_synthesis.readmission import WatchedReplay, naming, readmit_all, reworded
from tars_jax.data.website_synthesis.reused_page import ReusedPage
from tars_jax.data.website_synthesis.synthesis import SiteReport
from tars_jax.data.website_synthesis.view import View
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager
from tars_jax.tasks.websites.effect import Change, Effect
from tars_jax.tasks.websites.tables import to_tables
from tars_jax.tasks.websites.task import WebsiteTask
from tests.data.website_synthesis.small_site import SmallSite

NEW = (
    PageMove("follow", "New order"), PageMove("fill", "Customer", "customer", "new", value="Dora"),
    PageMove("choose", "Priority", "priority", "new", value="High"),
    PageMove("fill", "Note", "note", "new", value="ring twice"),
    PageMove("press", "Create order", "", "new"),
)  # fmt: skip
EDIT = (
    PageMove("follow", "Order of Björn"), PageMove("fill", "Note", "note", "order/2", value="as glass"),
    PageMove("press", "Save order", "", "order/2"),
)  # fmt: skip


def former(number: int, instruction: str, solution: list[str]) -> WebsiteTask:
    about = {
        "by": "website_synthesis", "category": "edit", "steps": 3, "functions": ["Save order"],
        "rubric": [], "solution": solution,
    }  # fmt: skip
    placeholder = Effect((Change("orders", is_={"note": ""}),))
    return WebsiteTask(f"orders-{number}", "orders", instruction, placeholder, about=about)


@pytest.mark.browser
@pytest.mark.slow
def test_recorded_solutions_get_a_check_of_all_that_they_change(tmp_path: Any) -> None:
    async def work() -> tuple[SiteReport, SiteReport]:
        site = SmallSite()
        try:
            async with BrowserManager(BrowserConfig(browsers=1, pages_per_browser=2)) as manager:
                page = ReusedPage(manager, site)
                calls = []
                for plan in (NEW, EDIT):
                    done = await execute(page, plan)
                    calls.append([format_call(each.action) for each in done.episode])
                await page.close()
                tasks = [
                    former(1, 'Create an order with Customer "Dora", Priority "High" and Note "ring twice".', calls[0]),
                    former(2, 'Change an order so that it has Note "as glass".', calls[1]),
                    former(3, "Go astray.", ["click(point='<point>990 990</point>')"]),
                ]
                await site.reset()
                grounds = Grounds(manager, site, frozenset(), [to_tables(await site.snapshot())])
                journal = tmp_path / "orders.jsonl"
                first = await readmit_all(grounds, "orders", tasks, OutcomeJournal(journal), lambda done, words: None)
                lines = journal.read_bytes()
                nobody = dataclasses.replace(grounds, manager=None)  # type: ignore[arg-type]
                again = await readmit_all(nobody, "orders", tasks, OutcomeJournal(journal), lambda done, words: None)
                assert journal.read_bytes() == lines, "a killed run goes on without trying anything twice"
                return first, again
        finally:
            site.close()

    report, again = asyncio.run(work())
    assert again == report and SiteReport.from_json(report.to_json()) == report
    new, edit = report.tasks
    assert report.rejected == {"its solution does not find what it acted on": 1}
    told = {"customer": "Dora", "item": "", "priority": "high", "note": "ring twice", "paid": "0"}
    assert new.effect.changes == (Change("orders", is_=told, open=("id",)),)
    assert edit.effect.changes == (Change("orders", {"item": "Desk"}, is_={"note": "as glass"}),)
    assert edit.instruction == (
        'Change an order for "Desk" so that it has Note "as glass" (in place of all that is there).'
    )
    assert new.ways == edit.ways == 2 and all(each.mutants > 20 for each in report.tasks)
    assert [move.value for move in new.plan if move.kind in ("fill", "choose")] == ["Dora", "High", "ring twice"]


def view(*headings: str, text: str = "") -> View:
    return View("http://h/", "", text, headings, (), (), (), 0, 100, 100, 0, 100)


def watched(*views: View, replaced: tuple[PageMove, ...] = (), plan: tuple[PageMove, ...] = ()) -> WatchedReplay:
    return WatchedReplay(None, plan, views, replaced)  # type: ignore[arg-type]


def test_joined_words_are_those_that_the_page_shows_apart() -> None:
    seen = watched(view("Ledger Trial Balance", "Journal"), replaced=(PageMove("fill", "text", value="No news."),))
    said = reworded('Edit "LedgerTrial Balance" at "Journal" so that it has text "No news.", and "Save".', seen)
    assert said == (
        'Edit "Ledger Trial Balance" at "Journal" so that it has text "No news." (in place of all that is there), '
        'and "Save".'
    )
    assert reworded(said, seen) == said, "once is enough"


@pytest.mark.parametrize(
    ("instruction", "named"),
    [
        ('Add a column with Name "kelp".', 'Add a column for "product" with Name "kelp".'),
        ('Add one at "with care" with Name "kelp".', 'Add one at "with care" for "product" with Name "kelp".'),
        ('Create an entry, by "Add".', 'Create an entry for "product", by "Add".'),
        ("Delete it.", ""),
    ],
)
def test_a_name_that_the_page_shows_is_put_into_the_words(instruction: str, named: str) -> None:
    lacks = NoCheck(UNNAMED, where="product")
    assert naming(instruction, lacks, watched(view(text="tables: product, order"))) == named
    assert naming(instruction, lacks, watched(view(text="nothing"))) == ""
    assert naming(instruction, NoCheck("another reason"), watched(view(text="product"))) == ""


def test_fields_that_stand_together_are_filled_in_from_the_last_to_the_first() -> None:
    at = [Click(Point(n, n)) for n in range(5)]
    down = Scroll(Point(500, 500), "down")
    actions: list[Action] = [
        at[0], at[1], Type("a"), at[2], Hotkey(("ctrl", "a")), Type("b"), down, at[3], Type("c"), at[4]
    ]  # fmt: skip
    parts = parts_of(actions)
    assert [len(each.actions) for each in parts] == [1, 2, 3, 1, 2, 1]
    order = reordered(parts)
    assert order == [parts[0], parts[2], parts[1], *parts[3:]] and sorted(map(id, order)) == sorted(map(id, parts))
    assert WayPart((down,)).point is None and not parts[0].fills and parts[1].fills
