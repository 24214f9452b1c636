"""BrowserGame's episodes, on a page that this test makes up: order, rewards, failures."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest
from PIL import Image

from tars_jax import InputError
from tars_jax.agent import Click, Finished, Navigate, Point, Press, Wait
from tars_jax.environment import Task
from tars_jax.envs import BrowserGame, BrowserGameSettings
from tars_jax.sandbox.browser import BrowserManager, InputEvent, KeyUp, PageError, PageObservation, SandboxFailure, Site
from tars_jax.tasks.games.catalog import load_game

MAZE = load_game("maze_path_of_light")
CLICK = Click(Point(500, 500))


def task(seed: int = 2) -> Task:
    return Task("t", "maze_path_of_light", seed, {"level": 1}, 8)


class FakePage:
    """Done and successful after three acts; fails at the act numbered `fail_at`."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.fail_at = fail_at
        self.starts: list[tuple[str, int]] = []
        self.acts: list[tuple[list[InputEvent], float]] = []
        self.moves = 0
        self.closed = 0
        self.begun = "0"
        self.silent = False  # its verifier says nothing

    def _observation(self) -> PageObservation:
        picture = io.BytesIO()
        Image.fromarray(np.full((100, 200, 3), self.moves, np.uint8)).save(picture, "PNG")
        done = self.moves >= 3
        verdict = {"score": self.moves, "level": 1, "lives": 1, "done": done, "success": done}
        data = {"state": {"moves": self.moves}, "verdict": None if self.silent else verdict, "begun": self.begun}
        return PageObservation(picture.getvalue(), data)

    async def start(self, expression: str, *, seed: int, read: str | None = None) -> PageObservation:
        self.starts.append((expression, seed))
        self.begun = f"{len(self.starts)} {expression}"
        self.moves = 0
        return self._observation()

    async def act(self, events: Sequence[InputEvent], *, advance_ms: float, read: str | None = None) -> PageObservation:
        if self.fail_at == len(self.acts):
            raise SandboxFailure("renderer", "crashed")
        self.acts.append((list(events), advance_ms))
        self.moves += bool(events)
        return self._observation()

    async def close(self) -> None:
        self.closed += 1


class FakeManager:
    def __init__(self, *pages: FakePage) -> None:
        self.pages = list(pages)
        self.opened: list[tuple[Site, bool]] = []

    async def open_page(
        self, site: Site, *, single_canvas: bool = False, size: tuple[int, int] | None = None
    ) -> FakePage:
        self.opened.append((site, single_canvas))
        return self.pages[len(self.opened) - 1]


def game_on(*pages: FakePage, settings: BrowserGameSettings | None = None) -> tuple[BrowserGame, FakeManager]:
    manager = FakeManager(*pages)
    return BrowserGame(cast(BrowserManager, manager), settings), manager


def run(work: Any) -> Any:
    return asyncio.run(work)


def test_one_page_serves_many_episodes() -> None:
    page = FakePage()
    game, manager = game_on(page)

    async def play() -> None:
        for seed in (2, 4):
            frame = await game.reset(task(seed))
            assert frame.pixels is not None and frame.pixels.shape == (100, 200, 3)
            assert frame.info["state"] == {"moves": 0}
        await game.close()
        await game.close()

    run(play())
    assert manager.opened == [(Site(MAZE.site_root, MAZE.index), True)]
    assert page.starts == [('game.start({"level": 1, "seed": 2})', 2), ('game.start({"level": 1, "seed": 4})', 4)]
    assert page.closed == 1


def test_the_actions_of_a_turn_go_in_order_and_stop_when_the_game_is_over() -> None:
    page = FakePage()
    game, _ = game_on(page)

    async def play() -> None:
        await game.reset(task())
        first = await game.step([CLICK, Wait(1)])
        assert (first.reward, first.terminated, first.info["executed"]) == (0.0, False, 2)
        second = await game.step([CLICK, CLICK, CLICK, CLICK])
        assert (second.reward, second.terminated, second.info["executed"]) == (1.0, True, 2)
        assert second.observation.info["verdict"]["score"] == 3
        third = await game.step([CLICK])
        assert (third.reward, third.terminated, third.info["executed"]) == (0.0, True, 0)

    run(play())
    assert [advance_ms for _, advance_ms in page.acts] == [MAZE.settle_ms, 1000, MAZE.settle_ms, MAZE.settle_ms]


def test_settling_can_be_set() -> None:
    page = FakePage()
    game, _ = game_on(page, settings=BrowserGameSettings(settle_ms=7))

    async def play() -> None:
        await game.reset(task())
        await game.step([CLICK])

    run(play())
    assert page.acts[0][1] == 7


def test_finished_ends_the_episode_and_foreign_actions_do_nothing() -> None:
    page = FakePage()
    game, _ = game_on(page)

    async def play() -> None:
        await game.reset(task())
        navigated = await game.step([Navigate("http://example.com")])
        assert (navigated.terminated, navigated.info["ignored"]) == (False, ("navigate",))
        finished = await game.step([Finished("done"), CLICK])
        assert (finished.reward, finished.terminated) == (0.0, True)

    run(play())
    assert page.acts == []


def test_keys_left_down_do_not_reach_into_the_next_episode() -> None:
    page = FakePage()
    game, _ = game_on(page)

    async def play() -> None:
        await game.reset(task())
        await game.step([Press("shift")])
        await game.reset(task())
        await game.reset(task())

    run(play())
    assert page.acts[1:] == [([KeyUp("Shift")], 0)]


def test_a_failure_passes_through_and_the_next_episode_has_a_new_page() -> None:
    broken, sound = FakePage(fail_at=1), FakePage()
    game, manager = game_on(broken, sound)

    async def play() -> None:
        await game.reset(task())
        await game.step([CLICK])
        with pytest.raises(SandboxFailure):
            await game.step([CLICK])
        with pytest.raises(InputError, match="reset must be called before step"):
            await game.step([CLICK])
        frame = await game.reset(task())
        assert frame.info["state"] == {"moves": 0}

    run(play())
    assert (broken.closed, sound.closed, len(manager.opened)) == (1, 0, 2)


def test_a_page_that_begins_another_episode_earns_nothing() -> None:
    page = FakePage()
    game, _ = game_on(page)

    async def play() -> None:
        frame = await game.reset(task())
        assert set(frame.info) == {"state", "verdict"}
        await game.step([CLICK])
        await page.start('game.start({"level": 1, "distance": [1, 1]})', seed=0)  # as a script in the page could
        with pytest.raises(PageError, match="began an episode that nobody asked for"):
            await game.step([CLICK])

    run(play())
    assert page.closed == 1


def test_a_page_whose_verifier_says_nothing_is_used_by_nobody_again() -> None:
    pages = [FakePage(), FakePage(), FakePage()]
    game, manager = game_on(*pages)

    async def play() -> None:
        await game.reset(task())
        pages[0].silent = pages[1].silent = True
        with pytest.raises(PageError, match=r"verify\(\) must give a verdict"):
            await game.step([CLICK])
        with pytest.raises(PageError, match="task t: maze_path_of_light cannot start with .*must give a verdict"):
            await game.reset(task())
        await game.reset(task())

    run(play())
    assert ([page.closed for page in pages], len(manager.opened)) == ([1, 1, 0], 3)


def test_a_step_that_is_cancelled_leaves_no_page_behind() -> None:
    class SlowPage(FakePage):
        async def act(
            self, events: Sequence[InputEvent], *, advance_ms: float, read: str | None = None
        ) -> PageObservation:
            await asyncio.sleep(60)
            raise AssertionError

    page = SlowPage()
    game, _ = game_on(page)

    async def play() -> None:
        await game.reset(task())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(game.step([CLICK]), 0.05)

    run(play())
    assert page.closed == 1


def test_bad_tasks_are_refused() -> None:
    game, _ = game_on(FakePage())
    with pytest.raises(InputError, match="a game must be one of .*; got 'chess'"):
        run(game.reset(Task("t", "chess", 0, {}, 8)))
    with pytest.raises(InputError, match="an option must be one of"):
        run(game.reset(Task("t", "maze_path_of_light", 0, {"color": 1}, 8)))
