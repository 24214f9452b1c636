"""The games in a real Chromium, by Playwright alone."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tars_jax.tasks.games.catalog import Game, game_names, load_game
from tars_jax.tasks.games.pictures import chromium, open_game, perform

pytestmark = pytest.mark.browser

PIXELS = "game.canvas.toDataURL()"
SAMPLED_LEVELS = {  # where the later ones take many moves
    "emoji_sort_master": (1, 3, 5),
    "energy": (1, 3, 5),
    "free_the_key": (1, 3, 7),
    "game_2048": (1, 2, 3),
    "gem_11": (1, 2, 3),
    "hex_frvr": (1, 3, 5),
    "merge_and_double": (1, 2, 3),
    "tiles_master": (1, 3, 5),
    "wood_blocks_3d": (1, 3, 5),
}
EVERY_THIRD = [
    pytest.param(name, marks=pytest.mark.full if place % 3 else ()) for place, name in enumerate(game_names())
]
LEVELS_WON = [
    pytest.param(name, level, marks=pytest.mark.full if place < 2 else ())
    for name in game_names()
    for place, level in enumerate(SAMPLED_LEVELS.get(name, (1, 3, 8)))
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def watched(browser: Browser) -> Iterator[list[Page]]:
    """Pages put into this list are checked at the end: no error, nothing loaded from beyond the games' folder."""
    pages: list[Page] = []
    yield pages
    for page in pages:
        assert page.troubles == []  # type: ignore[attr-defined]
        page.close()


def opened(browser: Browser, watched: list[Page], game: Game, width: int = 96, height: int = 96) -> Page:
    troubles: list[str] = []
    root = game.site_root.as_uri()
    page = open_game(browser, game, width, height)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: troubles.append(message.text))
    page.on("request", lambda request: troubles.extend([] if request.url.startswith(root) else [request.url]))
    page.reload()
    page.troubles = troubles  # type: ignore[attr-defined]
    watched.append(page)
    return page


def start(page: Page, **options: Any) -> None:
    page.evaluate("options => game.start(options)", options)


def read(page: Page) -> tuple[dict[str, Any], dict[str, Any]]:
    """(state, verdict), which must agree."""
    state, verdict = page.evaluate("[game.state(), window.verify()]")
    assert verdict == {name: state[name] for name in ("score", "level", "lives", "done", "success")}
    return state, verdict


def play_to_the_end(page: Page, game: Game, rng: random.Random, max_steps: int) -> dict[str, Any]:
    """The verdict after the reference player has played."""
    for _ in range(max_steps):
        state, verdict = read(page)
        if verdict["done"]:
            return verdict
        perform(page, game.reference(state, rng))
    return read(page)[1]


@pytest.mark.parametrize(("name", "level"), LEVELS_WON)
@pytest.mark.first(6)
def test_the_reference_player_wins_within_the_budget(
    browser: Browser, watched: list[Page], name: str, level: int
) -> None:
    game = load_game(name)
    page = opened(browser, watched, game)
    for seed in (1, 2) if level == 1 else (1,):
        start(page, seed=seed, level=level)
        verdict = play_to_the_end(page, game, random.Random(seed), game.steps_of_level(level))
        assert verdict["success"] and verdict["score"] > 0 and verdict["lives"] == 1


@pytest.mark.parametrize(("width", "height"), [(1280, 720)])
@pytest.mark.parametrize("name", EVERY_THIRD)
@pytest.mark.first(3)
def test_points_and_keys_are_right_at_any_size(
    browser: Browser, watched: list[Page], name: str, width: int, height: int
) -> None:
    game = load_game(name)
    page = opened(browser, watched, game, width, height)
    start(page, seed=3, level=2)
    size = page.evaluate("[game.canvas.width, game.canvas.height, game.canvas.clientWidth, game.canvas.clientHeight]")
    assert size == [width, height, width, height]
    assert play_to_the_end(page, game, random.Random(0), game.steps_of_level(2))["success"]


@pytest.mark.parametrize("name", EVERY_THIRD)
@pytest.mark.first(3)
def test_nobody_playing_scores_nothing(browser: Browser, watched: list[Page], name: str) -> None:
    game = load_game(name)
    page = opened(browser, watched, game)
    for level in range(1, len(game.levels) + 1):
        start(page, seed=4, level=level)
        before = page.evaluate("game.state()")
        page.wait_for_timeout(50)
        assert page.evaluate("game.state()") == before
        assert read(page)[1] == {"score": 0, "level": level, "lives": 1, "done": False, "success": False}


OVERWRITE = """value => {
    const fill = (part) => Object.entries(part).forEach(([key, held]) => {
        if (held !== null && typeof held === "object") fill(held);
        else part[key] = value;
    });
    fill(game.state());
    fill(window.verify());
}"""


@pytest.mark.parametrize("name", game_names())
def test_what_the_state_hands_out_is_a_copy(browser: Browser, watched: list[Page], name: str) -> None:
    page = opened(browser, watched, load_game(name))
    start(page, seed=5, level=2)
    before = read(page)
    for value in (1, 65536):  # a maze is won where all places are one, 2048 where all tiles are large
        page.evaluate(OVERWRITE, value)
        assert read(page) == before


@pytest.mark.parametrize("name", EVERY_THIRD)
@pytest.mark.first(3)
def test_random_play(browser: Browser, watched: list[Page], name: str) -> None:
    """Any input anywhere: the verdict always agrees with the state, and points are never taken away."""
    game = load_game(name)
    page = opened(browser, watched, game)
    rng = random.Random(5)
    start(page, seed=5, level=6)
    score = 0
    for _ in range(40):
        kind = rng.choice(("click", "click", "drag", "key", "right"))
        x, y = rng.uniform(0, 96), rng.uniform(0, 96)
        if kind == "key":
            page.keyboard.press(rng.choice(("ArrowUp", "ArrowLeft", "ArrowRight", "ArrowDown", "Enter", "x")))
        elif kind == "drag":
            page.mouse.move(x, y)
            page.mouse.down()
            page.mouse.move(rng.uniform(0, 96), rng.uniform(0, 96))
            page.mouse.up()
        else:
            page.mouse.click(x, y, button="right" if kind == "right" else "left")
        verdict = read(page)[1]
        assert verdict["score"] >= score
        score = verdict["score"]


@pytest.mark.parametrize(("width", "height"), [(96, 96), pytest.param(640, 360, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", EVERY_THIRD)
@pytest.mark.first(3)
def test_start_begins_from_nothing(browser: Browser, watched: list[Page], name: str, width: int, height: int) -> None:
    """After other episodes, one left in the middle of a press and a tween, the same seed gives the same bytes."""
    game = load_game(name)
    page = opened(browser, watched, game, width, height)
    start(page, seed=6, level=3)
    first = page.evaluate("game.state()"), page.evaluate(PIXELS), page.screenshot()
    start(page, seed=7, level=5)
    play_to_the_end(page, game, random.Random(0), 5)
    page.mouse.move(width // 2, height // 2)
    page.mouse.down()
    start(page, seed=6, level=3)
    page.mouse.move(width // 2 + 40, height // 2)
    page.mouse.up()
    assert (page.evaluate("game.state()"), page.evaluate(PIXELS), page.screenshot()) == first
    fresh = opened(browser, watched, game, width, height)
    start(fresh, seed=6, level=3)
    assert (fresh.evaluate("game.state()"), fresh.evaluate(PIXELS), fresh.screenshot()) == first
    start(fresh, seed=8, level=3)
    assert fresh.evaluate(PIXELS) != first[1]


@pytest.mark.parametrize("name", EVERY_THIRD)
@pytest.mark.first(3)
def test_the_picture_rests_after_settle_ms(browser: Browser, watched: list[Page], name: str) -> None:
    game = load_game(name)
    page = opened(browser, watched, game, 640, 360)
    page.clock.install(time=0)
    page.reload()
    page.clock.pause_at(1000)
    start(page, seed=9, level=1)
    rng = random.Random(0)
    done = False
    while not done:
        perform(page, game.reference(page.evaluate("game.state()"), rng))
        at_once = page.evaluate(PIXELS)
        page.clock.run_for(game.settle_ms)
        settled = page.evaluate(PIXELS)
        assert settled != at_once
        page.clock.run_for(1000)
        assert page.evaluate(PIXELS) == settled
        done = read(page)[1]["done"]


@pytest.mark.parametrize("name", EVERY_THIRD)
@pytest.mark.first(3)
def test_nothing_happens_after_the_end(browser: Browser, watched: list[Page], name: str) -> None:
    game = load_game(name)
    page = opened(browser, watched, game)
    start(page, seed=10, level=1)
    assert play_to_the_end(page, game, random.Random(0), 25)["success"]
    before = page.evaluate("game.state()"), page.evaluate(PIXELS)
    for key in ("ArrowUp", "ArrowRight", "ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
    for x in range(8, 96, 16):
        for y in range(8, 96, 16):
            page.mouse.click(x, y)
    assert (page.evaluate("game.state()"), page.evaluate(PIXELS)) == before


@pytest.mark.parametrize("name", EVERY_THIRD)
def test_a_person_plays_on_after_a_win(browser: Browser, watched: list[Page], name: str) -> None:
    game = load_game(name)
    page = opened(browser, watched, game, 320, 320)
    assert read(page)[0]["level"] == 1  # the page began by itself
    assert play_to_the_end(page, game, random.Random(0), 25)["success"]
    page.mouse.click(160, 200)
    state, verdict = read(page)
    assert state["level"] == 2 and not verdict["done"]


@pytest.mark.parametrize("name", game_names())
@pytest.mark.first(6)
def test_a_bad_option_stops_start_with_a_sentence(browser: Browser, watched: list[Page], name: str) -> None:
    page = opened(browser, watched, load_game(name))
    for options in ({"level": 0}, {"level": "2"}, {"seed": -1}, {"seed": 0.5}):
        said = page.evaluate(
            "options => { try { game.start(options) } catch (error) { return error.message } }", options
        )
        assert "takes a whole number" in said and next(iter(options)) in said
