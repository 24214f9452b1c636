"""MiniWoB++ on every screenshot path: whatever is clicked, no page ends.

By default some tasks that have pickers; every task, with two seeds and on all paths, with --all.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Any

import pytest

from tars_jax.agent import Action, Click, Hotkey, Point, Type
from tars_jax.envs import BrowserGame
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager, SandboxFailure
from tars_jax.tasks.library import load_playable, playable_names
from tars_jax.tasks.sampling import sample_task

pytestmark = pytest.mark.browser
PAGES = 4
PATHS = ("frame", *(pytest.param(path, marks=pytest.mark.full) for path in ("cdp", "plain")))
MOST = 4  # controls clicked in an episode
SAMPLE = ("choose-list", "enter-date", "enter-time", "use-spinner")
# The middle of each control that can be seen, and the end of each, where a field has its icon.
CONTROLS = """(() => {
    const what = "select, input, textarea, button, a, label, [tabindex], [contenteditable], [role], [onclick]";
    const outer = document.querySelector("iframe").contentWindow;
    const seen = [outer, ...Array.from(outer.frames)].flatMap((page) => {
        const around = page === outer ? { left: 0, top: 0 } : page.frameElement.getBoundingClientRect();
        return [...page.document.body.querySelectorAll(what)].flatMap((one) => {
            const { left, top, width, height } = one.getBoundingClientRect();
            const y = around.top + top + height / 2, at = (x) => [around.left + left + x, y];
            const ends = one.matches("input, select") ? [at(width - 10)] : [];
            return width && height ? [at(width / 2), ...ends] : [];
        });
    });
    return seen.filter(([x, y]) => x > 0 && y > 0 && x < innerWidth && y < innerHeight)
        .map(([x, y]) => [Math.round(x / innerWidth * 1000), Math.round(y / innerHeight * 1000)]);
})()"""


async def click_all(game: BrowserGame, name: str, seed: int) -> str:
    """Clicks on every control of an episode, then below it, and types: what ended the page; empty where nothing did."""
    task = sample_task(name, "train", seed, 0, {})
    try:
        await game.reset(task)
        assert game.page is not None
        places = await game.page.evaluate(CONTROLS)
        for x, y in places[:: max(1, len(places) // MOST)]:
            below = Point(x, min(y + 120, 990))
            actions: list[Action] = [
                Click(Point(x, y)),
                Click(below),
                Type("3"),
                Click(Point(x, y)),
                Hotkey(("enter",)),
            ]
            for action in actions:
                if (await game.step([action])).terminated:
                    await game.reset(task)
    except SandboxFailure as failure:
        with contextlib.suppress(Exception):
            await game.close()
        return f"{name}, seed {seed}: {failure}"
    return ""


async def sweep(path: str, names: Iterable[str], seeds: int, size: tuple[int, int]) -> list[str]:
    width, height = size
    config = BrowserConfig(browsers=2, pages_per_browser=2, width=width, height=height, screenshot=path)
    async with BrowserManager(config) as manager:
        games: asyncio.Queue[BrowserGame] = asyncio.Queue()
        for _ in range(PAGES):
            games.put_nowait(BrowserGame(manager))

        async def one(name: str, seed: int) -> str:
            game = await games.get()
            try:
                return await click_all(game, name, seed)
            finally:
                games.put_nowait(game)

        found = await asyncio.gather(*(one(name, seed) for name in names for seed in range(seeds)))
        while not games.empty():
            await games.get_nowait().close()
    return [line for line in found if line]


@pytest.mark.parametrize("path", PATHS)
def test_no_click_on_a_control_ends_a_page(path: str, request: pytest.FixtureRequest) -> None:
    whole = request.config.getoption("--all")
    names = playable_names("miniwob") if whole else tuple(f"miniwob/{name}" for name in SAMPLE)
    sizes: dict[Any, list[str]] = {}
    for name in names:
        sizes.setdefault(load_playable(name).page_size, []).append(name)
    for size, some in sizes.items():
        assert asyncio.run(sweep(path, some, 2 if whole else 1, size)) == []
