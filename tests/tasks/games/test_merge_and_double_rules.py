"""Merge and Double: its rules in a real Chromium, its levels, and its reference player on positions made by hand."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Page

from tars_jax.tasks.games.merge_and_double import reference
from tests.tasks.games.states import SEEDED, read, start

GAME = "merge_and_double"


def as_columns(state: dict[str, Any]) -> reference.Columns:
    return tuple(map(tuple, state["columns"]))


KNOWN = [  # columns before, column, block, columns after, points
    ([[], [2], [], [], []], 0, 4, [[4], [2], [], [], []], 0),
    ([[2], [], [], [], []], 0, 2, [[4], [], [], [], []], 4),
    ([[2], [], [2], [], []], 1, 2, [[], [8], [], [], []], 8),  # both sides: it doubles twice
    ([[2, 8], [], [2], [], []], 1, 2, [[], [16], [], [], []], 8 + 16),  # the 8 falls beside the new 8
    ([[4, 2], [2], [], [], []], 0, 2, [[8], [2], [], [], []], 4 + 8),  # a chain in one column
    ([[2, 4, 8, 16, 32], [], [], [], []], 0, 32, [[2, 4, 8, 16, 64], [], [], [], []], 64),  # a full column
]


@pytest.mark.browser
def test_drops_made_by_hand(page: Page) -> None:
    for before, column, block, after, points in KNOWN:
        result = page.evaluate("arguments => drop(...arguments)", [before, column, block])
        assert (result["columns"], result["gained"]) == (after, points)


@pytest.mark.browser
def test_a_click_and_a_drag_drop_the_block_that_is_shown(page: Page) -> None:
    state = start(page, seed=1, level=3)
    page.mouse.click(16 * 4 + 8, 70)
    after = read(page)
    assert as_columns(after) == reference.drop(as_columns(state), 4, state["block"])
    assert after["block"] == state["next"] and after["moves"] == 1
    start(page, seed=1, level=3)
    page.mouse.move(16 * 2 + 8, 8)
    page.mouse.down()
    page.mouse.move(16 * 4 + 8, 30)
    page.mouse.up()
    assert read(page) == after


@pytest.mark.browser
def test_columns_fill_up_until_the_game_is_lost(page: Page) -> None:
    """The page and the reference player agree on every drop; a full column takes nothing but its like."""
    rng = random.Random(0)
    state = start(page, seed=2, level=8, rows=4)
    page.mouse.click(88, 50)  # beside the columns
    assert read(page) == state
    refused = 0
    while not state["done"]:
        column = rng.randrange(5)
        page.mouse.click(16 * column + 8, 50)
        after = read(page)
        if column in reference.open_columns(as_columns(state), 5, state["block"]):
            assert as_columns(after) == reference.drop(as_columns(state), column, state["block"])
            assert max(map(len, after["columns"])) <= 5 and after["score"] >= state["score"]
        else:
            assert after == state
            refused += 1
        state = after
    assert refused > 0
    assert page.evaluate("window.verify()") == {
        "score": state["score"], "level": 8, "lives": 0, "done": True, "success": False,
    }  # fmt: skip


STRAYING = """block => {
    const [width, height] = [96, 96], canvas = Object.assign(document.createElement("canvas"), { width, height });
    const context = canvas.getContext("2d"), columns = [[2, block], [block], [block], [block], [block]];
    const layout = { board: { x: 0, y: 0, cell: 16, width, height } };
    drawFlat({ context, canvas, layout }, { columns, block, next: 512 });
    const { data } = context.getImageData(0, 0, width, height);
    const white = (x, y) => [0, 1, 2].every((part) => data[4 * (y * width + x) + part] === 255);
    const lines = Array.from({ length: 6 }, (_, i) => 16 * i + 15), along = [...Array(96).keys()];
    return along.flatMap((y) => lines.filter((x) => white(x, y)).map((x) => [x, y]));
}"""


@pytest.mark.browser
def test_numbers_stay_on_their_blocks_at_the_policys_size(page: Page) -> None:
    """A number that strays into the gap is painted over by the next block: 4096 reads as 4098."""
    for block in (8, 16, 64, 256, 1024, 4096):
        assert page.evaluate(STRAYING, block) == [], block


@pytest.mark.browser
def test_levels_begin_without_neighbours_that_are_alike(page: Page) -> None:
    for level in range(1, 9):
        for state in page.evaluate(SEEDED, [list(range(50)), level]):
            columns = state["columns"]
            assert {len(stack) for stack in columns} == {{1: 1, 2: 1, 6: 2}.get(level, 3)}
            assert max(map(max, columns)) <= state["most"] < state["target"]
            assert all(stack[row] != stack[row + 1] for stack in columns for row in range(len(stack) - 1))
            assert all(one != other for a, b in pairwise(columns) for one, other in zip(a, b, strict=True))


@pytest.mark.browser
def test_only_powers_of_two(page: Page) -> None:
    for option in ("target", "most"):
        script = "options => { try { game.start(options) } catch (error) { return error.message } }"
        assert page.evaluate(script, {option: 24, "level": 4}) == f"option {option} takes a power of two, got 24"


def hand_made(columns: list[list[int]], block: int, following: int, **changes: Any) -> dict[str, Any]:
    view = {"board": {"x": 0, "y": 0, "cell": 16, "width": 96, "height": 96}, "viewport": {"width": 96, "height": 96}}
    given = {"height": 5, "target": 256, "most": 32}
    return {"columns": columns, "block": block, "next": following, **given, **view, **changes}


@pytest.mark.parametrize(("before", "column", "block", "after", "_points"), KNOWN)
def test_reference_knows_the_rules(
    before: list[list[int]], column: int, block: int, after: list[list[int]], _points: int
) -> None:
    assert reference.drop(tuple(map(tuple, before)), column, block) == tuple(map(tuple, after))


def test_it_merges_and_takes_the_win() -> None:
    move = reference.play(hand_made([[32], [], [8], [], []], 8, 2), random.Random(0))
    assert move.thought == "8 then 2, 8 on 8, column 2" and move.parameters == {"point": (417, 500)}
    won = reference.play(hand_made([[128], [64], [4], [2], []], 64, 4), random.Random(0))
    assert won.thought.endswith("column 1")  # 64 and 64 are 128, which falls beside 128


def test_without_skill_any_open_column() -> None:
    full = [2, 4, 2, 4, 2]
    rng = random.Random(1)
    points = {
        reference.play(hand_made([full, full, [4, 2, 4, 2, 8], [], [2]], 8, 2), rng, skill=0.0).thought[-1]
        for _ in range(60)
    }
    assert points == {"2", "3", "4"}
