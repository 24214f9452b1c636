"""Snake Solver: its rules in a real Chromium, its levels, and its reference player in gardens made by hand."""

from __future__ import annotations

import random
from typing import Any

import pytest
from playwright.sync_api import Page

from tars_jax.tasks.games.snake_solver.reference import DIRECTIONS, Garden, play

GAME = "snake_solver"

START = "options => { game.start(options); return game.state() }"


def garden(rows: str, body: list[list[int]]) -> dict[str, Any]:
    """A state from a map of walls #, fruits o, the exit E and free cells."""
    lines = rows.split()
    found: dict[str, list[list[int]]] = {sign: [] for sign in "#oE."}
    for row, line in enumerate(lines):
        for column, sign in enumerate(line):
            found[sign].append([column, row])
    return {"size": len(lines), "walls": found["#"], "fruits": found["o"], "exit": found["E"][0], "body": body}


def garden_of(state: dict[str, Any]) -> Garden:
    column, row = state["exit"]
    return Garden(state["size"], [(x, y) for x, y in state["walls"]], (column, row))


def legal(page: Page, world: dict[str, Any]) -> list[str]:
    names: list[str] = page.evaluate("world => legalMoves(world)", world)
    return names


@pytest.mark.browser
def test_walls_body_and_a_closed_exit_block_but_the_end_of_the_tail_makes_way(page: Page) -> None:
    world = garden("...E ...o .#.. ....", [[2, 1], [2, 0], [1, 0], [1, 1]])
    assert legal(page, world) == ["right", "down", "left"]  # left is the end of the tail
    assert legal(page, {**world, "body": [*world["body"], [0, 1]]}) == ["right", "down"]
    assert legal(page, {**world, "body": [[1, 1], [0, 1]]}) == ["up", "right", "left"]
    beside_exit = {**world, "body": [[2, 0], [1, 0], [0, 0]]}
    assert legal(page, beside_exit) == ["down"]
    assert legal(page, {**beside_exit, "fruits": []}) == ["right", "down"]


@pytest.mark.browser
def test_a_fruit_makes_the_snake_longer(page: Page) -> None:
    world = garden("...E ...o .#.. ....", [[2, 1], [1, 1], [0, 1]])
    after = page.evaluate("world => moved(world, 'right')", world)
    assert after["body"] == [[3, 1], *world["body"]] and after["fruits"] == []
    after = page.evaluate("world => moved(world, 'down')", world)
    assert after["body"] == [[2, 2], [2, 1], [1, 1]] and after["fruits"] == world["fruits"]


@pytest.mark.browser
def test_keys_drags_and_clicks_move_alike_and_others_do_nothing(page: Page) -> None:
    state = page.evaluate(START, {"seed": 3, "level": 3})
    column, row = state["body"][0]
    for direction, (dx, dy) in DIRECTIONS.items():
        after = []
        for way in ("key", "drag", "click"):
            page.evaluate(START, {"seed": 3, "level": 3})
            if way == "key":
                page.keyboard.press(f"Arrow{direction.capitalize()}")
            elif way == "drag":
                page.mouse.move(48, 48)
                page.mouse.down()
                page.mouse.move(48 + 30 * dx, 48 + 30 * dy)
                page.mouse.up()
            else:
                page.mouse.click(16 * (column + dx) + 8, 16 * (row + dy) + 8)
            after.append(page.evaluate("game.state()"))
        assert after[0] == after[1] == after[2]
        went = direction in state["legal"]
        assert after[0]["moves"] == int(went)
        assert after[0]["body"][0] == ([column + dx, row + dy] if went else [column, row])
    page.evaluate(START, {"seed": 3, "level": 3})
    for x in range(6):
        for y in range(6):
            if abs(x - column) + abs(y - row) != 1:
                page.mouse.click(16 * x + 8, 16 * y + 8)
    assert page.evaluate("game.state()") == state


@pytest.mark.browser
def test_a_stuck_snake_has_lost(page: Page) -> None:
    state = page.evaluate(START, {"seed": 5, "level": 6})
    rng = random.Random(1)
    for _ in range(400):
        if state["done"]:
            break
        page.keyboard.press("Arrow" + rng.choice(state["legal"]).capitalize())
        state = page.evaluate("game.state()")
    assert (state["done"], state["success"], state["lives"], state["legal"]) == (True, False, 0, [])
    eaten = state["total_fruits"] - len(state["fruits"])
    assert page.evaluate("window.verify()") == {
        "score": eaten, "level": 6, "lives": 0, "done": True, "success": False,
    }  # fmt: skip


@pytest.mark.browser
def test_levels_can_be_won_within_their_range(page: Page) -> None:
    script = "([level, seeds]) => seeds.map(seed => { game.start({level, seed}); return game.state() })"
    walk = (
        "([world, ways]) => { for (const way of ways) { if (!legalMoves(world).includes(way)) return null;"
        " world = moved(world, way) } return world }"
    )
    for level, (count, size, walls, fruits, length, high) in {
        1: (50, 6, 0, 1, 3, 5), 3: (50, 6, 5, 3, 4, 14), 5: (10, 8, 13, 5, 6, 32), 8: (1, 12, 36, 8, 12, 90),
    }.items():  # fmt: skip
        for state in page.evaluate(script, [level, list(range(count))]):
            cells = [*state["walls"], *state["fruits"], state["exit"], *state["body"]]
            assert len({tuple(cell) for cell in cells}) == walls + fruits + 1 + length and state["size"] == size
            body = tuple(tuple(cell) for cell in state["body"])
            tour = garden_of(state).tour(body, frozenset(tuple(cell) for cell in state["fruits"]))
            assert tour is not None and len(tour) <= high
            steps = [(x - from_x, y - from_y) for (from_x, from_y), (x, y) in zip((body[0], *tour), tour, strict=False)]
            ways = [next(name for name, step in DIRECTIONS.items() if step == taken) for taken in steps]
            world = page.evaluate(walk, [state, ways])
            assert world["fruits"] == [] and world["body"][0] == state["exit"]


@pytest.mark.browser
def test_impossible_options_are_a_sentence(page: Page) -> None:
    script = "options => { try { game.start(options) } catch (error) { return error.message } }"
    assert "takes [least, most]" in page.evaluate(script, {"seed": 1, "moves": [4, 2]})
    assert "no level of size 3" in page.evaluate(script, {"seed": 1, "size": 3, "moves": [80, 90]})


def test_the_player_waits_for_its_tail() -> None:
    world = garden("....E .###. ....o ##### #####", [[2, 0], [1, 0], [0, 0], [0, 1], [0, 2]])
    body = tuple((column, row) for column, row in world["body"])
    # On the ninth move the whole snake has left the ring's other side; a shut exit leaves it no way round.
    round_the_ring = [(3, 0), (4, 0), (4, 1), (4, 2), (3, 2), (2, 2), (1, 2), (0, 2), (0, 1)]
    assert garden_of(world).way(body, (0, 1), frozenset()) == round_the_ring
    assert garden_of(world).way(body, (4, 2), frozenset({(4, 0)})) is None


def test_the_player_leaves_a_near_fruit_for_later() -> None:
    # A snake of four can turn round in the room of four cells, one of five cannot: the room comes first.
    world = garden(".o### ..### .#### .o.E# ...##", [[0, 4], [1, 4], [2, 4]])
    move = play({**world, "legal": ["up"]}, random.Random(0))
    assert move.thought == "0 4 to 1 0, up up up up, up"
    assert (move.function, move.parameters) == ("hotkey", {"key": "up"})
    tour = garden_of(world).tour(((0, 4), (1, 4), (2, 4)), frozenset({(1, 0), (1, 3)}))
    assert tour is not None and tour.index((1, 0)) < tour.index((1, 3)) and len(tour) == 12


def test_the_player_says_when_nothing_leads_out() -> None:
    world = garden("#o### #.... ###.# #.E.# #####", [[1, 1], [2, 1], [3, 1], [4, 1]])
    thought = play({**world, "legal": ["up"]}, random.Random(0)).thought
    assert thought == "head 1 1, no way out, up"


def test_the_player_without_skill_takes_any_legal_way() -> None:
    world = {**garden("..... ..... ....o ..... ....E", [[2, 2], [1, 2], [0, 2]]), "legal": ["up", "right", "down"]}
    rng = random.Random(2)
    keys = [play(world, rng, skill=0.0).parameters["key"] for _ in range(90)]
    assert all(keys.count(name) > 15 for name in world["legal"])
