"""Wood Blocks 3D: its rules and its dealer in a real Chromium, and its reference player on boards made by hand."""

from __future__ import annotations

import io
import random
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Page

from tars_jax.tasks.games.pictures import perform
from tars_jax.tasks.games.wood_blocks_3d.reference import BitBoard, PlacementPlan, deepest_plan, play

GAME = "wood_blocks_3d"

START = "options => { game.start(options); return game.state() }"
CROWDED = "x.xx x.x. xxx. .x.x"  # a column of three fits only after a single block has cleared a line
ONE, ACROSS, DOWN = [[0, 0]], [[0, 0], [1, 0], [2, 0]], [[0, 0], [0, 1], [0, 2]]


def grid(rows: str) -> list[list[int]]:
    return [[int(sign == "x") for sign in row] for row in rows.split()]


def drag(page: Page, state: dict[str, Any], slot: int, column: float, row: float) -> dict[str, Any]:
    """The state after a drag of an offered piece whose upper left corner goes to a cell."""
    board, size, cells = state["board"], state["size"], state["offered"][slot]["cells"]
    wide, high = (1 + max(cell[axis] for cell in cells) for axis in (0, 1))
    page.mouse.move(
        board["x"] + (slot + 0.5) * board["width"] / 3, board["y"] + (size + state["offer_rows"] / 2) * board["cell"]
    )
    page.mouse.down()
    page.mouse.move(
        board["x"] + (column + wide / 2) * board["cell"], board["y"] + (row + high / 2) * board["cell"], steps=2
    )
    page.mouse.up()
    after: dict[str, Any] = page.evaluate("game.state()")
    return after


@pytest.mark.browser
def test_full_rows_and_columns_go_together(page: Page) -> None:
    script = "([blocks, cells, place]) => placed(blocks, {cells, wood: 2}, place)"
    after = page.evaluate(script, [grid("..xx xx.x ..x. ..x."), [[0, 0]], [2, 1]])
    assert after["blocks"] == grid("...x .... .... ....") and after["lines"] == 2 and len(after["cleared"]) == 7
    after = page.evaluate(script, [grid(".... x..x .... ...."), DOWN, [1, 0]])
    assert after["lines"] == 0 and [line[1] for line in after["blocks"]] == [2, 2, 2, 0]


@pytest.mark.browser
def test_no_block_leans_over_the_numbers_above_the_board(page: Page) -> None:
    """Whatever lies in the first row: what is written above the board of a tall stage looks the same."""
    page.set_viewport_size({"width": 320, "height": 320})
    written = set()
    for seed in range(8):
        page.evaluate("seed => game.start({ seed, level: 1 })", seed)
        with Image.open(io.BytesIO(page.screenshot())) as picture:
            written.add(picture.convert("RGB").crop((0, 0, 320, 51)).tobytes())
    page.set_viewport_size({"width": 96, "height": 96})
    assert len(written) == 1


@pytest.mark.browser
def test_every_offered_piece_lies_within_its_hollow(page: Page) -> None:
    """The strip between the rim of the board and the hollows looks the same, whatever lies in them."""
    page.set_viewport_size({"width": 1280, "height": 720})
    strips, heights = set(), set()
    for seed in range(12):
        state = page.evaluate(START, {"seed": seed, "level": 8})
        heights |= {max(row for _, row in piece["cells"]) for piece in state["offered"]}
        below = round(state["board"]["y"] + state["size"] * state["board"]["cell"])
        with Image.open(io.BytesIO(page.screenshot())) as picture:
            strips.add(picture.convert("RGB").crop((640, below + 13, 1140, below + 22)).tobytes())
    page.set_viewport_size({"width": 96, "height": 96})
    assert 2 in heights and len(strips) == 1  # some are three blocks high


@pytest.mark.browser
def test_where_a_piece_fits(page: Page) -> None:
    script = "([blocks, cells]) => placesFor(blocks, {cells})"
    assert page.evaluate(script, [grid("x... .x.. ..x. x..x"), ACROSS]) == [[1, 0]]
    assert page.evaluate(script, [grid("x... .x.. ..x. x..x"), DOWN]) == [[3, 0]]
    together = "([blocks, all]) => canPlaceAll(blocks, all.map(cells => ({cells, wood: 1})))"
    assert page.evaluate(together, [grid(CROWDED), [DOWN, ONE]])  # the single block makes room for the column
    assert not page.evaluate(together, [grid("x.x. .x.x x.x. .x.x"), [ONE, ACROSS]])


@pytest.mark.browser
def test_a_piece_goes_where_it_fits_and_back_from_anywhere_else(page: Page) -> None:
    state = page.evaluate(START, {"seed": 5, "level": 3})
    blocks, piece = state["blocks"], state["offered"][1]
    fits = page.evaluate("([blocks, piece]) => placesFor(blocks, piece)", [blocks, piece])
    elsewhere = [(column, row) for column in range(-1, 6) for row in range(-1, 6) if [column, row] not in fits]
    for column, row in random.Random(0).sample(elsewhere, 10):
        assert drag(page, state, 1, column, row) == state
    page.mouse.click(48, 84)
    assert page.evaluate("game.state()") == state
    column, row = fits[0]
    after = drag(page, state, 1, column + 0.3, row - 0.3)  # a hand is not exact
    assert after["moves"] == 1 and after["offered"][1] is None
    assert after["blocks"] == page.evaluate(
        "([blocks, piece, place]) => placed(blocks, piece, place).blocks", [blocks, piece, fits[0]]
    )


@pytest.mark.browser
def test_a_board_without_room_is_lost(page: Page) -> None:
    state = page.evaluate(START, {"seed": 2, "level": 7})
    rng = random.Random(0)
    while not state["done"]:
        perform(page, play(state, rng, skill=0.0))
        state = page.evaluate("game.state()")
    assert not state["success"] and state["lives"] == 0
    for piece in filter(None, state["offered"]):
        assert page.evaluate("([blocks, piece]) => placesFor(blocks, piece)", [state["blocks"], piece]) == []
    assert page.evaluate("window.verify()") == {
        "score": state["lines"], "level": 7, "lives": 0, "done": True, "success": False,
    }  # fmt: skip


@pytest.mark.browser
def test_whoever_puts_all_pieces_down_is_always_dealt_pieces_that_fit(page: Page) -> None:
    """In 60 starts at each of three levels, and in the deals that follow the ways that the dealer itself found."""
    play_on = """
      ([level, seeds]) => seeds.every(seed => {
        const [size, , filled, shapes, atHand] = LEVELS[level - 1];
        const random = Kit.random("test", seed);
        let { blocks, offered } = makeLevel(random, size, filled, shapes, atHand);
        for (let round = 0; round < 4; round++) {
          if (blocks.some(line => line.every(Boolean)) || offered.length !== 3) return false;
          let left = offered;
          while (left.length) {
            const all = left.flatMap(piece => placesFor(blocks, piece).map(place => ({ piece, place })));
            const found = all.find(({ piece, place }) =>
              canPlaceAll(placed(blocks, piece, place).blocks, left.filter(one => one !== piece)));
            if (!found) return false;
            blocks = placed(blocks, found.piece, found.place).blocks;
            left = left.filter(one => one !== found.piece);
          }
          offered = deal(random, blocks, shapes);
        }
        return true;
      })"""
    for level in (1, 3, 5):
        assert page.evaluate(play_on, [level, list(range(60))])


def state_of(rows: str, *pieces: list[list[int]] | None) -> dict[str, Any]:
    blocks = grid(rows)
    return {
        "size": len(blocks),
        "blocks": blocks,
        "offered": [cells and {"cells": cells, "wood": 1} for cells in pieces],
        "offer_rows": 2,
        "lines": 0,
        "target": 4,
        "board": {"x": 16, "y": 0, "cell": 16, "width": 64, "height": 96},
        "viewport": {"width": 96, "height": 96},
    }


def test_the_player_completes_a_line() -> None:
    move = play(state_of(".... x... .... x...", None, ACROSS, None), random.Random(0))
    assert move.thought in ("0 of 4 lines, piece 2 to 1 1", "0 of 4 lines, piece 2 to 1 3")
    assert move.function == "drag" and move.parameters["start_point"] == (500, 833)


def test_the_player_makes_room_before_it_needs_it() -> None:
    state = state_of(CROWDED, DOWN, None, ONE)
    assert " piece 3 " in play(state, random.Random(0)).thought
    at = BitBoard(4)
    board = sum(1 << 4 * row + column for row in range(4) for column in range(4) if state["blocks"][row][column])
    places = {0: at.places(0, DOWN), 2: at.places(2, ONE)}
    found = deepest_plan(at, PlacementPlan(0.0, board, frozenset(places), None), places)
    assert not found.left and found.first is not None and found.first.piece == 2


def test_the_player_without_skill_puts_any_piece_anywhere_it_fits() -> None:
    state = state_of("x... .x.. ..x. x..x", DOWN, None, ACROSS)
    rng = random.Random(0)
    thoughts = {play(state, rng, skill=0.0).thought for _ in range(60)}
    assert thoughts == {"0 of 4 lines, piece 1 to 3 0", "0 of 4 lines, piece 3 to 1 0"}
