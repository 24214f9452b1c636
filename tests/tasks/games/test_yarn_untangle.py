"""Yarn Untangle: its geometry in a real Chromium, its levels, and its reference player on tangles made by hand."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from tars_jax.tasks.games.yarn_untangle.reference import crossings_with, gains, play

GAME = "yarn_untangle"

START = "options => { game.start(options); return game.state() }"

# Pairs of threads between balls 0, 1, 2, 3 as joined below, and whether they cross.
CASES: list[tuple[list[list[int]], list[list[int]], bool]] = [
    ([[0, 0], [2, 2], [0, 2], [2, 0]], [[0, 1], [2, 3]], True),
    ([[0, 0], [2, 2], [0, 1], [0, 2]], [[0, 1], [2, 3]], False),
    ([[0, 0], [2, 2], [1, 1], [0, 2]], [[0, 1], [2, 3]], True),  # a ball lies on the other thread
    ([[0, 0], [3, 0], [1, 0], [2, 0]], [[0, 1], [2, 3]], True),  # one lies along the other
    ([[0, 0], [1, 0], [2, 0], [3, 0]], [[0, 1], [2, 3]], False),  # in one line, apart
    ([[0, 0], [3, 1], [3, 2]], [[0, 1], [0, 2]], False),  # they share a ball
    ([[0, 0], [1, 1], [3, 3]], [[0, 1], [0, 2]], True),  # they share a ball and lie along each other
    ([[1, 1], [0, 0], [3, 3]], [[0, 1], [0, 2]], False),  # they share a ball and go apart in one line
    ([[0, 0], [1, 3], [3, 0], [1, 4]], [[0, 1], [2, 3]], False),
]


def drag(page: Page, state: dict[str, Any], start: tuple[float, float], end: tuple[float, float]) -> dict[str, Any]:
    """The state after a drag between two points in cells."""
    board = state["board"]
    points = [(board["x"] + (x + 0.5) * board["cell"], board["y"] + (y + 0.5) * board["cell"]) for x, y in (start, end)]
    page.mouse.move(*points[0])
    page.mouse.down()
    page.mouse.move(*points[1], steps=3)
    page.mouse.up()
    after: dict[str, Any] = page.evaluate("game.state()")
    return after


def empty_place(state: dict[str, Any]) -> list[int]:
    size = state["size"]
    return next([x, y] for y in range(size) for x in range(size) if [x, y] not in state["balls"])


@pytest.mark.browser
def test_what_crosses(page: Page) -> None:
    for balls, (one, other), crossed in CASES:
        for first, second in ((one, other), (other, one), (one[::-1], other), (one, other[::-1])):
            assert page.evaluate("([balls, a, b]) => cross(balls, a, b)", [balls, first, second]) == crossed


@pytest.mark.parametrize(("balls", "threads", "crossed"), CASES)
def test_the_player_counts_alike(balls: list[list[int]], threads: list[list[int]], crossed: bool) -> None:
    for ball in range(len(balls)):
        if any(ball in thread for thread in threads):
            count = crossings_with(ball, np.array(balls)[[ball]], np.array(balls), np.array(threads))
            assert count.tolist() == [int(crossed)]


@pytest.mark.browser
def test_a_ball_is_carried_to_an_empty_place_and_nowhere_else(page: Page) -> None:
    state = page.evaluate(START, {"seed": 2, "level": 4})
    (column, row), place = state["balls"][0], empty_place(state)
    for end in (tuple(state["balls"][1]), (-0.9, row), (column, row), (column + 0.3, row)):
        assert drag(page, state, (column, row), end) == state
    page.mouse.click(state["board"]["x"] + 2, state["board"]["y"] + 2)
    assert drag(page, state, (place[0], place[1]), (column, row)) == state  # nothing lies there to carry
    after = drag(page, state, (column + 0.3, row - 0.3), (place[0] - 0.3, place[1] + 0.3))
    assert after["balls"] == [place, *state["balls"][1:]] and after["moves"] == 1


@pytest.mark.browser
def test_the_score_is_what_was_untangled_and_is_never_lost(page: Page) -> None:
    state = page.evaluate(START, {"seed": 3, "level": 3})
    table = gains(state["size"], np.array(state["balls"]), np.array(state["threads"]))
    ball, place = divmod(int(table.argmax()), table.shape[1])
    row, column = divmod(place, state["size"])
    home = state["balls"][ball]
    after = drag(page, state, (home[0], home[1]), (column, row))
    assert after["score"] == state["crossings"] - after["crossings"] == table.max() > 0
    back = drag(page, state, (column, row), (home[0], home[1]))
    assert back["balls"] == state["balls"] and back["score"] == after["score"] and back["moves"] == 2


@pytest.mark.browser
def test_levels_can_be_untangled_and_take_their_least_moves(page: Page) -> None:
    script = "([level, seeds]) => seeds.map(seed => { game.start({level, seed}); return game.state() })"
    for level, (count, balls, threads, least) in {
        1: (50, 4, 4, 1), 3: (50, 6, 10, 2), 5: (4, 9, 14, 4), 8: (1, 16, 26, 8),
    }.items():  # fmt: skip
        untangled = []
        for state in page.evaluate(script, [level, list(range(count))]):
            assert len({tuple(ball) for ball in state["balls"]}) == balls
            assert len({tuple(sorted(thread)) for thread in state["threads"]}) == threads
            at, joined, moves = np.array(state["balls"]), np.array(state["threads"]), 0
            left = state["crossings"]
            while left:
                table = gains(state["size"], at, joined)
                assert table.max() > 0
                ball, place = divmod(int(table.argmax()), table.shape[1])
                at[ball] = [place % state["size"], place // state["size"]]
                left -= table.max()
                moves += 1
            assert moves >= least
            untangled.append([at.tolist(), state["threads"]])
        assert page.evaluate("all => all.every(([at, threads]) => !crossings(at, threads).length)", untangled)


def tangle() -> dict[str, Any]:
    return {
        "size": 3,
        "balls": [[0, 0], [2, 2], [0, 2], [2, 0]],
        "threads": [[0, 1], [2, 3], [0, 2]],
        "crossings": 1,
        "board": {"x": 0, "y": 0, "cell": 32, "width": 96, "height": 96},
        "viewport": {"width": 96, "height": 96},
    }


def test_the_player_moves_the_first_ball_that_frees_all() -> None:
    # Ball 0 (upper left) would have to leave the square; the first free place, 1 0, still lies across 2-3.
    move = play(tangle(), random.Random(0))
    assert move.function == "drag" and move.thought == "1 crossings, 0 0 to 2 1"
    assert move.parameters == {"start_point": (167, 167), "end_point": (833, 500)}


def test_the_player_without_skill_makes_any_move() -> None:
    rng = random.Random(0)
    thoughts = {play(tangle(), rng, skill=0.0).thought for _ in range(150)}
    assert len(thoughts) == 4 * 5  # four balls, five empty places
