"""The whole pipeline on a small site with a server and a state of its own, in a real Chromium."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from tars_jax.agent.grammar import parse_response
from tars_jax.agent.response import Response
from tars_jax.data.config import ExplorationConfig, WebsiteSynthesisConfig
from tars_jax.data.website_synthesis.execution import play_at_random, replay
from tars_jax.data.website_synthesis.exploration import explore
from tars_jax.data.website_synthesis.functions import functions_of
from tars_jax.data.website_synthesis.journal import CandidateOutcome, OutcomeJournal
from tars_jax.data.website_synthesis.report import markdown, page
from tars_jax.data.website_synthesis.synthesis import SiteReport, synthesize
from tars_jax.data.website_synthesis.task import SynthesizedTask
from tars_jax.envs.website import WebsiteEnvironment
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager
from tars_jax.tasks.websites.tables import to_tables
from tests.data.website_synthesis.small_site import SmallSite

pytestmark = pytest.mark.browser
T = TypeVar("T")


def on_site(work: Callable[[BrowserManager, SmallSite], Awaitable[T]], *, forgets: bool = False) -> T:
    @contextlib.asynccontextmanager
    async def site() -> AsyncIterator[SmallSite]:
        found = SmallSite(forgets=forgets)
        try:
            yield found
        finally:
            found.close()

    async def worked() -> T:
        async with BrowserManager(BrowserConfig(browsers=1, pages_per_browser=2)) as manager, site() as found:
            return await work(manager, found)

    return asyncio.run(worked())


def test_a_site_is_explored_and_its_functions_are_found() -> None:
    explored = on_site(lambda manager, site: explore(manager, site, ExplorationConfig(presses=0)))
    assert [each.view.path for each in explored.pages][:1] == ["/"] and len(explored.pages) == 6 and not explored.noise
    functions, dropped = functions_of(explored.pages)
    found = {(each.category, each.action) for each in functions}
    assert found >= {
        ("create", "/new"),
        ("configure", "/settings"),
        ("edit", "/order/2"),
        ("delete", "/order/3/delete"),
    }
    assert dropped == {"it only looks things up": 1}
    (new,) = [each for each in functions if each.category == "create"]
    assert [(each.label, each.kind) for each in new.fields] == [
        ("Customer", "text"), ("Item", "text"), ("Priority", "select"), ("Paid already", "checkbox"),
        ("Note", "textarea"),
    ]  # fmt: skip
    assert new.fields[0].required and new.fields[2].options == ("Low", "High")  # not the one that is chosen already


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tasks", "merged", "rows"), [(3, 1, 0), pytest.param(9, 2, 2, marks=pytest.mark.full)], ids=["few", "more"]
)
def test_tasks_are_solved_verified_and_reported(tasks: int, merged: int, rows: int, tmp_path: Path) -> None:
    config = WebsiteSynthesisConfig(
        tasks=tasks, merged=merged, rows=rows, questions=1, random_episodes=1, random_actions=3,
        exploration=ExplorationConfig(pages=6, presses=0),
    )  # fmt: skip

    async def work(manager: BrowserManager, site: SmallSite) -> tuple[SiteReport, list[tuple[bool, ...]]]:
        written = tmp_path / "orders.jsonl"
        report = await synthesize(manager, site, "orders", config, journal=OutcomeJournal(written))
        lines = written.read_bytes().splitlines(keepends=True)
        assert len(lines) == len({json.loads(line)["key"] for line in lines}) >= tasks
        written.write_bytes(b"".join(lines[:-1]) + lines[-1][:40])  # as a kill leaves it
        again = await synthesize(manager, site, "orders", config, journal=OutcomeJournal(written))
        assert again == report and written.read_bytes().splitlines(keepends=True) == lines
        assert all(task.mutants > (20 if task.effect.changes else 5) for task in report.tasks)
        states: list[tuple[bool, ...]] = []
        for task in report.tasks:  # each once more, by its recorded actions alone
            parsed = [
                parse_response(f"Action: {each}", space=WebsiteEnvironment.action_space) for each in task.solution
            ]
            actions = [action for each in parsed if isinstance(each, Response) for action in each.actions]
            assert len(actions) == len(task.solution)
            if task.effect.changes:
                done = await replay(manager, site, actions)
                states.append(tuple(not task.effect.wrong(done.before, each) for each in (done.before, done.after)))
        return report, states

    report, states = on_site(work)
    assert [task.category for task in report.tasks].count("information") == 1
    assert len(report.tasks) == tasks and states == [(False, True)] * (tasks - 1)
    assert min(task.steps for task in report.tasks) == 1 and max(task.steps for task in report.tasks) >= 5
    assert SiteReport.from_json(report.to_json()) == report
    assert "orders | train | 6 | 8 |" in markdown([report]) and report.tasks[0].id in page([report], {})


@pytest.mark.slow
@pytest.mark.full
def test_what_a_reset_does_not_undo_makes_no_task() -> None:
    config = WebsiteSynthesisConfig(tasks=12, each=1, merged=0, rows=0, questions=0, random_episodes=0)
    report = on_site(lambda manager, site: synthesize(manager, site, "orders", config), forgets=True)
    assert report.rejected["a reset does not undo it"] == 1
    changed = {change.read for task in report.tasks for change in task.effect.changes}
    assert changed == {"orders"} and {"create", "edit"} <= {task.category for task in report.tasks}


@pytest.mark.full
def test_random_play_is_the_same_for_a_seed_and_does_nothing_first() -> None:
    async def work(manager: BrowserManager, site: SmallSite) -> bool:
        one, other = [await play_at_random(manager, site, 1, 3, "s") for _ in range(2)]
        return one == other and one[0] == to_tables(await site.snapshot())

    assert on_site(work)


def test_tasks_of_an_earlier_run_are_neither_lost_nor_doubled(tmp_path: Path) -> None:
    task = SynthesizedTask("orders-1", "orders", "edit", "Do it.", 1, 6, reference="3")
    journal = OutcomeJournal(tmp_path / "orders.jsonl")
    journal.note("one", CandidateOutcome("", task, complaint="it is far longer or shorter"))
    journal.note("two", CandidateOutcome("a page failed", unshown=(("/new?", "Title"),)))
    read = OutcomeJournal(tmp_path / "orders.jsonl")
    assert (
        read.known("two") == CandidateOutcome("a page failed", unshown=(("/new?", "Title"),))
        and read.known("three") is None
    )
    assert list(read.left()) == [task]
    assert read.known("one") == CandidateOutcome("", task, complaint="it is far longer or shorter") and not list(
        read.left()
    )
