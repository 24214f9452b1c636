"""Pages that are kept between episodes, in a real browser: reused, bounded, and dropped when something broke."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tars_jax.environment import Task
from tars_jax.envs import BrowserGame, KeptPages
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager, PageError, SandboxFailure, Site
from tars_jax.tasks.sampling import sample_task

pytestmark = pytest.mark.browser
GAMES = ("maze_path_of_light", "infinity_loop", "tiles_master")


def site(folder: Path, name: str) -> Site:
    (folder / name).write_text("<!doctype html><body>a page")
    return Site(folder, name)


def run(work: Callable[[BrowserManager], Awaitable[None]], places: int) -> None:
    async def whole() -> None:
        async with BrowserManager(BrowserConfig(browsers=1, pages_per_browser=places, call_timeout_s=60)) as manager:
            await work(manager)

    asyncio.run(whole())


def test_seats_that_change_between_games_share_a_page_for_each() -> None:
    def task(number: int) -> Task:
        return sample_task(GAMES[number % 3], "train", number, 0, {"level": 1}, max_steps=5)

    async def work(manager: BrowserManager) -> None:
        kept = KeptPages(manager, 3)
        seats = [BrowserGame(kept), BrowserGame(kept)]
        fresh = BrowserGame(manager)
        for number in range(9):
            frame = await seats[number % 2].reset(task(number))
            if number >= 6:  # nothing is left of the episodes before
                assert frame.screenshot == (await fresh.reset(task(number))).screenshot
        await fresh.close()
        # A seat that asks while the other holds a page of the same game takes one more.
        assert manager.stats.pages_opened - 3 <= 4 and manager.stats.pages_open <= 3

    run(work, 4)


@pytest.mark.full
def test_the_page_that_has_waited_longest_makes_room(tmp_path: Path) -> None:
    a, b, c = (site(tmp_path, f"{name}.html") for name in "abc")

    async def work(manager: BrowserManager) -> None:
        kept = KeptPages(manager, 2)
        for each in (a, b):
            await (await kept.open_page(each)).close()
        first = await kept.open_page(c)  # a's page goes
        second = await kept.open_page(b)
        assert (manager.stats.pages_opened, manager.stats.pages_open) == (3, 2)
        assert await second.evaluate("location.pathname") == "/b.html"
        await first.close()
        await first.close()
        with pytest.raises(RuntimeError, match="the page is closed"):
            await first.evaluate("1")
        await (await kept.open_page(c)).evaluate("1")
        assert manager.stats.pages_opened == 3

    run(work, 2)


def test_what_broke_is_not_kept_nor_what_waited_beside_it(
    tmp_path: Path, kill_browsers: Callable[[int], list[int]]
) -> None:
    a, b = site(tmp_path, "a.html"), site(tmp_path, "b.html")

    async def work(manager: BrowserManager) -> None:
        kept = KeptPages(manager, 4)
        await (await kept.open_page(a)).close()
        page = await kept.open_page(b)
        with pytest.raises(PageError):
            await page.evaluate("nothing.at.all")
        await page.close()
        assert manager.stats.pages_open == 0
        for each in (a, b):
            await (await kept.open_page(each)).close()
        assert kill_browsers(os.getpid())  # both die while nobody looks: whoever takes one finds it dead, once
        dead = await kept.open_page(a)
        with pytest.raises(SandboxFailure):
            await dead.evaluate("1")
        await dead.close()
        for each in (a, b):
            assert await (await kept.open_page(each)).evaluate("1 + 1") == 2

    run(work, 4)
