"""Energy: its rules in a real Chromium, its levels, and its reference player on tiles made by hand."""

from __future__ import annotations

import random
from typing import Any

import pytest
from playwright.sync_api import Page

from tars_jax.tasks.games.catalog import load_game
from tars_jax.tasks.games.energy import reference

GAME = "energy"

START = "options => { game.start(options); return game.state() }"
SEEDED = "([seeds, options]) => seeds.map(seed => { game.start({...options, seed}); return game.state() })"
UP, RIGHT, DOWN, LEFT = 1, 2, 4, 8


def tile(kind: str, wires: int, fixed: bool = False) -> dict[str, Any]:
    sides = [side for bit, side in enumerate(("up", "right", "down", "left")) if wires >> bit & 1]
    return {"kind": kind, "fixed": fixed, "wires": wires, "sides": sides}


def board_of(tiles: list[list[dict[str, Any]]]) -> reference.Board:
    return tuple(tuple((one["kind"], one["fixed"], one["wires"]) for one in line) for line in tiles)


def two_by_two() -> list[list[dict[str, Any]]]:
    """A source, a bend to its right, a lamp below that; the bend and the lamp stand wrong."""
    return [
        [tile("source", RIGHT, fixed=True), tile("wire", UP | RIGHT)],
        [tile("empty", 0), tile("lamp", LEFT)],
    ]


def test_known_answer() -> None:
    tiles = two_by_two()
    assert reference.plan(board_of(tiles)) == {(1, 0): 2, (1, 1): 1}
    geometry = {"x": 0, "y": 0, "cell": 48, "width": 96, "height": 96}
    state = {"tiles": tiles, "lit": 0, "lamps": 1, "board": geometry, "viewport": {"width": 96, "height": 96}}
    move = reference.play(state, random.Random(0))
    assert (move.thought, move.parameters) == ("0 of 1 lamps, turn 1 0, 2 to go", {"point": (750, 250)})
    words = {reference.play(state, random.Random(seed), skill=0.0).thought for seed in range(40)}
    assert words == {"0 of 1 lamps, turn 1 0, 2 to go", "0 of 1 lamps, turn 1 1, 1 to go"}  # never the fixed source


def test_two_lamps_that_face_each_other_are_no_solution() -> None:
    tiles = [
        [tile("source", UP), tile("lamp", UP), tile("lamp", UP)],
        [tile("lamp", UP), tile("empty", 0), tile("empty", 0)],
    ]
    with pytest.raises(ValueError, match="no way to feed"):
        reference.play({"tiles": tiles, "lit": 0, "lamps": 3}, random.Random(0))


@pytest.mark.browser
def test_power_needs_both_ends_of_a_wire(page: Page) -> None:
    tiles = two_by_two()
    count = "tiles => ({...countLamps(tiles), power: powerOf(tiles)})"
    assert page.evaluate(count, tiles) == {"lit": 0, "lamps": 1, "power": [[True, False], [False, False]]}
    tiles[0][1]["wires"] = LEFT | DOWN
    assert page.evaluate(count, tiles) == {"lit": 0, "lamps": 1, "power": [[True, True], [False, False]]}
    tiles[1][1]["wires"] = UP
    assert page.evaluate(count, tiles) == {"lit": 1, "lamps": 1, "power": [[True, True], [False, True]]}


@pytest.mark.browser
def test_clicks_turn_clockwise_and_fixed_or_empty_tiles_stay(page: Page) -> None:
    state = page.evaluate(START, {"seed": 2, "level": 6, "fixed": 50, "filled": 70})
    stay = [
        (column, row)
        for row, line in enumerate(state["tiles"])
        for column, one in enumerate(line)
        if one["fixed"] or len(one["sides"]) == 0
    ]
    assert len(stay) > 12
    for column, row in stay:
        page.mouse.click(16 * column + 8, 16 * row + 8)
    assert page.evaluate("game.state()") == state
    column, row = next(
        (c, r)
        for r, line in enumerate(state["tiles"])
        for c, one in enumerate(line)
        if one["sides"] and not one["fixed"]
    )
    page.mouse.click(16 * column + 8, 16 * row + 8)
    after = page.evaluate("game.state()")
    order = ["up", "right", "down", "left"]
    turned = {order[(order.index(side) + 1) % 4] for side in state["tiles"][row][column]["sides"]}
    assert set(after["tiles"][row][column]["sides"]) == turned and after["moves"] == 1


@pytest.mark.browser
@pytest.mark.full
def test_levels_can_be_lit_and_are_not(page: Page) -> None:
    for level in range(1, 9):
        for state in page.evaluate(SEEDED, [list(range(50)), {"level": level}]):
            flat = [one for line in state["tiles"] for one in line]
            assert sum(one["kind"] == "source" for one in flat) == state["sources"]
            assert state["lit"] < state["lamps"] == sum(one["kind"] == "lamp" for one in flat)
            board = tuple(
                tuple((one["kind"], one["fixed"], reference.bits_of(one["sides"])) for one in line)
                for line in state["tiles"]
            )
            assert reference.plan(board)


@pytest.mark.browser
def test_turning_at_random_rarely_lights_all_lamps(page: Page) -> None:
    play = """([seeds, steps]) => seeds.filter(seed => {
        game.start({ seed, level: 3 });
        const tiles = makeLevel(Kit.random("energy", seed, 3), game.state()), random = Kit.random("clicks", seed);
        const won = () => { const { lit, lamps } = countLamps(tiles); return lit === lamps };
        for (let step = 0; step < steps && !won(); step++) {
            const tile = random.pick(random.pick(tiles));
            if (canTurn(tile)) tile.wires = turned(tile.wires, 1);
        }
        return won();
    }).length"""
    assert page.evaluate(play, [list(range(40)), load_game("energy").steps_of_level(3)]) <= 4
