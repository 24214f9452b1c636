"""Laser Maze Puzzle: its rules in a real Chromium, its levels, and its reference player on positions made by hand."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from playwright.sync_api import Page

from tars_jax.tasks.games.catalog import load_game
from tars_jax.tasks.games.laser_maze_puzzle import reference
from tests.tasks.games.states import SEEDED, read, start

GAME = "laser_maze_puzzle"


def click(page: Page, at: list[int]) -> None:
    page.mouse.click(16 * at[0] + 8, 16 * at[1] + 8)


def hand_made(mirrors: list[tuple[int, int, int]], **changes: Any) -> dict[str, Any]:
    """Five by five cells, a source at the left of the middle row that shines to the right."""
    view = {"board": {"x": 0, "y": 0, "cell": 19, "width": 95, "height": 95}, "viewport": {"width": 95, "height": 95}}
    pieces = [{"at": [column, row], "turn": turn} for column, row, turn in mirrors]
    source = {"at": [0, 2], "direction": "right"}
    plain = {
        "size": 5,
        "source": source,
        "mirrors": pieces,
        "splitters": [],
        "walls": [],
        "targets": [[2, 0]],
        "lit": 0,
    }
    return {**plain, **view, **changes}


@pytest.mark.browser
@pytest.mark.parametrize(
    ("turn", "lit"),
    [(0, [[4, 2]]), (1, [[2, 4]]), (2, []), (3, [[2, 0]])],  # along it, down, back, up
)
def test_a_mirror_turns_the_beam(page: Page, turn: int, lit: list[list[int]]) -> None:
    board = hand_made([(2, 2, turn)], targets=[[2, 0], [4, 2], [2, 4]])
    board["source"]["direction"] = 1
    assert page.evaluate("board => litTargets(board)", board) == lit


@pytest.mark.browser
def test_a_splitter_lets_light_through_and_a_wall_does_not(page: Page) -> None:
    board = hand_made([], splitters=[{"at": [2, 2], "turn": 3}], targets=[[2, 0], [4, 2]], walls=[])
    board["source"]["direction"] = 1
    assert page.evaluate("board => litTargets(board)", board) == [[2, 0], [4, 2]]
    assert page.evaluate("board => litTargets(board)", {**board, "walls": [[3, 2]]}) == [[2, 0]]


@pytest.mark.browser
def test_clicks_turn_mirrors_and_nothing_else(page: Page) -> None:
    state = start(page, seed=1, level=3)
    pieces = [piece["at"] for piece in state["mirrors"]]
    for column in range(6):
        for row in range(6):
            if [column, row] not in pieces:
                click(page, [column, row])
    assert read(page) == state
    further = state["mirrors"][0]
    for times in range(1, 5):
        click(page, further["at"])
        after = read(page)
        assert after["mirrors"][0]["turn"] == (further["turn"] + times) % 4 and after["moves"] == times
        assert after["mirrors"][1:] == state["mirrors"][1:]


@pytest.mark.browser
@pytest.mark.full
def test_levels_can_be_lit_and_ask_for_more_and_more_clicks(page: Page) -> None:
    means = []
    for level in range(1, 9):
        clicks = []
        for state in page.evaluate(SEEDED, [list(range(80)), level]):
            plan = reference.solve(state)
            assert plan is not None
            clicks.append(sum(plan.values()))
            assert sum(count > 0 for count in plan.values()) >= 2 and state["lit"] == 0
            turned = {cell: (turn + plan.get(cell, 0)) % 4 for cell, turn in mirrors_of(state).items()}
            board = {**state, "mirrors": [{"at": list(cell), "turn": turn} for cell, turn in turned.items()]}
            board["source"]["direction"] = list(reference.DIRECTIONS).index(state["source"]["direction"])
            if len(clicks) < 5:
                assert len(page.evaluate("board => litTargets(board)", board)) == len(state["targets"])
        assert max(clicks) <= load_game("laser_maze_puzzle").steps_of_level(level)
        means.append(sum(clicks) / len(clicks))
    assert all(harder > easier + 0.5 for easier, harder in itertools.pairwise(means)), means


def mirrors_of(state: dict[str, Any]) -> dict[tuple[int, int], int]:
    return {(piece["at"][0], piece["at"][1]): piece["turn"] for piece in state["mirrors"]}


def test_known_answer() -> None:
    assert reference.solve(hand_made([(2, 2, 1)])) == {(2, 2): 2}  # from "\\" over "|" to "/"
    two = hand_made([(2, 2, 3), (2, 0, 0)], targets=[[4, 0]])
    assert reference.solve(two) == {(2, 2): 0, (2, 0): 3}
    move = reference.play(two, random.Random(0))
    assert move.thought == "0 of 1 targets lit, mirror 2 0" and move.parameters == {"point": (500, 100)}
    assert reference.solve(hand_made([(2, 2, 1)], walls=[[2, 1]])) is None


def test_every_click_of_a_plan_brings_it_nearer() -> None:
    state = hand_made([(2, 2, 0), (2, 0, 1), (4, 0, 2)], targets=[[4, 3]])
    left = 3 + 2 + 3  # "/", "/", "\\"
    while left:
        plan = reference.solve(state)
        assert plan is not None and sum(plan.values()) == left
        at = next(cell for cell, count in plan.items() if count)
        for piece in state["mirrors"]:
            if tuple(piece["at"]) == at:
                piece["turn"] = (piece["turn"] + 1) % 4
        left -= 1
    assert reference.solve(state) == {(2, 2): 0, (2, 0): 0, (4, 0): 0}


def test_without_skill_any_mirror() -> None:
    rng = random.Random(1)
    state = hand_made([(2, 2, 1), (4, 4, 0)])
    assert {reference.play(state, rng, skill=0.0).thought[-3:] for _ in range(40)} == {"2 2", "4 4"}
