"""Shapes: its rules in a real Chromium, its levels, and its reference player on positions made by hand."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from playwright.sync_api import Page

from tars_jax.tasks.games.shapes import reference
from tests.tasks.games.states import SEEDED, read, start

GAME = "shapes"

CELL = 16  # pixels, on the six columns of the first levels at 96 x 96


def click(page: Page, cell: tuple[int, int]) -> None:
    page.mouse.click(CELL * cell[0] + 8, CELL * cell[1] + 8)


def drag(page: Page, cell: tuple[int, int], by: tuple[float, float]) -> None:
    x, y = CELL * cell[0] + 8, CELL * cell[1] + 8
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + CELL * by[0], y + CELL * by[1], steps=3)
    page.mouse.up()


def first_of_plan(state: dict[str, Any]) -> tuple[int, tuple[int, int], tuple[int, int]]:
    """(piece, where its first cell lies, where the plan wants it)."""
    index, target = reference.next_placement(state)
    home = state["pieces"][index]["home"]
    return index, (home[0], home[1]), target


@pytest.mark.browser
def test_drag_and_two_clicks_do_the_same(page: Page) -> None:
    index, home, target = first_of_plan(start(page, seed=1, level=3))
    drag(page, home, (target[0] - home[0] + 0.4, target[1] - home[1] - 0.4))  # not quite above its place
    dragged = read(page)
    start(page, seed=1, level=3)
    click(page, home)
    assert read(page)["selected"] == {"index": index, "held": 0}
    click(page, target)
    assert read(page) == dragged
    piece = dragged["pieces"][index]
    assert piece["at"] == list(target) and dragged["moves"] == 1 and dragged["selected"] is None
    assert dragged["score"] == dragged["covered"] == len(piece["cells"])


@pytest.mark.browser
def test_a_piece_goes_back_to_the_tray_and_keeps_its_points(page: Page) -> None:
    index, home, target = first_of_plan(start(page, seed=2, level=3))
    drag(page, home, (target[0] - home[0], target[1] - home[1]))
    score = read(page)["score"]
    drag(page, target, (0, 5 - target[1]))
    after = read(page)
    assert after["pieces"][index]["at"] is None and after["covered"] == 0 and after["moves"] == 2
    assert after["score"] == score > 0


@pytest.mark.browser
def test_what_does_not_fit_changes_nothing(page: Page) -> None:
    state = start(page, seed=3, level=3)
    index, home, target = first_of_plan(state)
    outside = next(
        (column, row) for row in range(6) for column in range(6)
        if [column, row] not in state["outline"]
        and all((column, row) not in reference.cells_at(piece["cells"], piece["home"]) for piece in state["pieces"])
    )  # fmt: skip
    click(page, outside)
    drag(page, home, (0, 0.6))  # over the tray
    assert read(page) == state
    drag(page, home, (target[0] - home[0], target[1] - home[1]))
    placed = read(page)
    other = next(one for one in range(len(state["pieces"])) if one != index)
    x, y = placed["pieces"][other]["home"]
    drag(page, (x, y), (target[0] - x, target[1] - y))  # above the first piece
    after = read(page)
    assert after["pieces"][index]["at"] == list(target)
    assert not set(map(tuple, reference.cells_at(placed["pieces"][index]["cells"], target))) & {
        cell
        for number, piece in enumerate(after["pieces"])
        if piece["at"] and number != index
        for cell in reference.cells_at(piece["cells"], piece["at"])
    }


@pytest.mark.browser
def test_levels_can_be_filled_and_grow(page: Page) -> None:
    areas = []
    for level in range(1, 9):
        for state in page.evaluate(SEEDED, [list(range(50 if level < 5 else 6)), level]):
            plan = reference.plan_for(state, {})
            assert plan is not None
            covered = [cell for index, at in plan.items()
                       for cell in reference.cells_at(state["pieces"][index]["cells"], at)]  # fmt: skip
            assert sorted(covered) == sorted(map(tuple, state["outline"]))
            homes = [cell for piece in state["pieces"] for cell in reference.cells_at(piece["cells"], piece["home"])]
            assert len(set(homes)) == len(homes)
            assert all(0 <= column < state["size"] and state["top"] <= row < state["size"] for column, row in homes)
        areas.append(len(state["outline"]))
    assert areas == sorted(set(areas))


@pytest.mark.full
@pytest.mark.browser
def test_each_level_has_more_pieces_to_place_than_the_one_before(page: Page) -> None:
    count = "([seeds, level]) => seeds.map(seed => { game.start({seed, level}); return game.state().pieces.length })"
    means = [sum(page.evaluate(count, [list(range(100)), level])) / 100 for level in range(1, 9)]
    assert all(more > fewer + 0.3 for fewer, more in itertools.pairwise(means)), means


def hand_made(**changes: Any) -> dict[str, Any]:
    """An outline of three by two cells for an L of three cells, a bar of two and a single cell; one order fills it.

    0 0 1      piece 0 is the L, 1 the upright bar, 2 the single cell
    0 2 1
    """
    pieces = [
        {"cells": [[0, 0], [0, 1], [1, 0]], "home": [0, 3], "at": None},
        {"cells": [[0, 0], [0, 1]], "home": [3, 3], "at": None},
        {"cells": [[0, 0]], "home": [5, 3], "at": None},
    ]
    for index, at in changes.pop("placed", {}).items():
        pieces[index]["at"] = at
    outline = [[column, row] for column in range(3) for row in range(2)]
    view = {"board": {"x": 0, "y": 0, "cell": 16, "width": 96, "height": 96}, "viewport": {"width": 96, "height": 96}}
    return {"outline": outline, "pieces": pieces, "selected": None, **view, **changes}


def test_known_answer() -> None:
    assert reference.plan_for(hand_made(), {}) == {0: (0, 0), 2: (1, 1), 1: (2, 0)}
    move = reference.play(hand_made(), random.Random(0))
    assert move.thought == "0 3 fits 0 0, take 0 3" and move.parameters == {"point": (83, 583)}
    held = reference.play(hand_made(selected={"index": 0, "held": 2}), random.Random(0))
    assert held.thought == "0 3 fits 0 0, put 1 0"  # it is held by its third cell, which goes to 1 0


def test_a_wrong_piece_goes_home_and_a_right_one_stays() -> None:
    assert reference.next_placement(hand_made(placed={0: [0, 0]})) == (2, (1, 1))
    assert reference.next_placement(hand_made(placed={2: [0, 0]})) == (2, (5, 3))


def test_no_plan_is_none() -> None:
    assert reference.plan_for(hand_made(outline=[[0, 0], [2, 0]]), {}) is None


def test_without_skill_every_move_is_legal() -> None:
    rng = random.Random(1)
    state = hand_made(selected={"index": 1, "held": 0}, placed={2: [0, 0]})
    points = {reference.play(state, rng, skill=0.0).thought.split("put ")[1] for _ in range(60)}
    assert points == {"1 0", "2 0"}
