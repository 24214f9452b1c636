"""Free the Key: its rules in a real Chromium, its levels, and its reference player on blocks made by hand."""

from __future__ import annotations

import random
from typing import Any

import pytest
from playwright.sync_api import Page

from tars_jax.tasks.games.catalog import load_game
from tars_jax.tasks.games.free_the_key import reference
from tars_jax.tasks.games.pictures import perform

GAME = "free_the_key"

START = "options => { game.start(options); return game.state() }"
SEEDED = "([seeds, options]) => seeds.map(seed => { game.start({...options, seed}); return game.state() })"


def block(column: int, row: int, length: int, across: bool) -> dict[str, Any]:
    return {"column": column, "row": row, "length": length, "across": across}


def board(*blocks: dict[str, Any]) -> dict[str, Any]:
    """What the reference player reads of a state on 96 by 96 pixels."""
    geometry = {"x": 0, "y": 0, "cell": 16, "width": 96, "height": 96}
    return {"blocks": list(blocks), "side": 6, "board": geometry, "viewport": {"width": 96, "height": 96}}


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> dict[str, Any]:
    """The state after a drag between two places, in cells."""
    page.mouse.move(16 * start[0], 16 * start[1])
    page.mouse.down()
    page.mouse.move(16 * end[0], 16 * end[1], steps=2)
    page.mouse.up()
    state: dict[str, Any] = page.evaluate("game.state()")
    return state


def key() -> dict[str, Any]:
    return block(1, 2, 2, True)


def test_the_shortest_way_is_known() -> None:
    # A long block stands in the way: it must come down, and a low block must go left first.
    state = board(key(), block(4, 0, 3, False), block(4, 5, 2, True))
    way = []
    for _ in range(3):
        move = reference.play(state, random.Random(0))
        assert move.function == "drag"
        way.append(move.thought)
        (x, y), (to_x, to_y) = move.parameters["start_point"], move.parameters["end_point"]
        place = (int(x * 6 / 1000), int(y * 6 / 1000))
        at = next(one for one in state["blocks"] if (one["column"], one["row"]) == place)
        at["column"] += round((to_x - x) * 6 / 1000)
        at["row"] += round((to_y - y) * 6 / 1000)
    assert way == [
        "key 1 2, 4 5 left 2, then 4 0 down 3",
        "key 1 2, 4 0 down 3, then 1 2 right 3",
        "key 1 2, 1 2 right 3",
    ]
    assert state["blocks"][0]["column"] == 4


def test_blocks_that_hold_the_key_for_ever_are_an_error() -> None:
    with pytest.raises(ValueError, match="hold the key for ever"):
        reference.play(board(key(), block(5, 0, 3, False), block(5, 3, 3, False)), random.Random(0))


def test_without_skill_every_legal_slide_occurs() -> None:
    state = board(block(3, 2, 2, True), block(0, 0, 3, False))
    rng = random.Random(1)
    thoughts = {reference.play(state, rng, skill=0.0).thought.split(", ")[1] for _ in range(200)}
    assert thoughts == {"3 2 right 1", "3 2 left 1", "3 2 left 2", "0 0 down 1", "0 0 down 2", "0 0 down 3"}


@pytest.mark.browser
def test_room_ends_at_blocks_and_walls(page: Page) -> None:
    blocks = [key(), block(4, 0, 3, False), block(0, 3, 2, True), block(5, 5, 1, True)]
    rooms = page.evaluate("blocks => blocks.map(one => roomOf(occupancy(blocks), one))", blocks)
    assert rooms == [[-1, 1], [0, 3], [0, 4], [-5, 0]]


@pytest.mark.browser
def test_a_drag_slides_as_far_as_there_is_room_and_no_other_way(page: Page) -> None:
    state = page.evaluate(START, {"seed": 1, "level": 6})
    rooms = page.evaluate("game.state().blocks.map((one, i, all) => roomOf(occupancy(all), one))")
    for number, one in enumerate(state["blocks"]):
        column, row = one["column"] + 0.5, one["row"] + 0.5
        sideways = (column, row + 4) if one["across"] else (column + 4, row)
        assert drag(page, (column, row), sideways) == state
        assert drag(page, (column, row), (column + 0.3, row + 0.3)) == state  # a click
        beyond = (column + 9, row) if one["across"] else (column, row + 9)
        after = drag(page, (column, row), beyond)
        moved = dict(one)
        moved["column" if one["across"] else "row"] += rooms[number][1]
        assert after["blocks"][number] == moved
        assert after["moves"] == int(rooms[number][1] > 0)
        page.evaluate(START, {"seed": 1, "level": 6})


@pytest.mark.browser
def test_levels_are_as_far_from_freedom_as_they_say(page: Page) -> None:
    ranges = {1: (2, 2), 2: (3, 3), 3: (4, 5), 4: (6, 7), 5: (8, 9), 6: (9, 11), 7: (11, 14), 8: (14, 18)}
    for level, (low, high) in ranges.items():
        for state in page.evaluate(SEEDED, [list(range(50 if level < 3 else 5)), {"level": level}]):
            blocks = [(b["row"] if b["across"] else b["column"], b["length"], b["across"]) for b in state["blocks"]]
            places = tuple(b["column"] if b["across"] else b["row"] for b in state["blocks"])
            assert low <= state["start_distance"] <= high
            assert state["blocks"][0]["across"] and state["blocks"][0]["row"] == state["exit_row"]
            if level in (1, 3, 6):
                assert len(reference.shortest_way(tuple(blocks), 6, places)) == state["distance"]


@pytest.mark.browser
def test_sliding_at_random_rarely_frees_the_key(page: Page) -> None:
    won = 0
    game = load_game("free_the_key")
    for seed in range(20):
        state = page.evaluate(START, {"seed": seed, "level": 3})
        blocks = tuple((b["row"] if b["across"] else b["column"], b["length"], b["across"]) for b in state["blocks"])
        places = tuple(b["column"] if b["across"] else b["row"] for b in state["blocks"])
        rng = random.Random(seed)
        for _ in range(game.steps_of_level(3)):
            slide = rng.choice(list(reference.slides(reference.cover(blocks, 6), places)))
            places = reference.after(places, slide)
            if places[0] == 4:
                won += 1
                break
    assert won <= 4


@pytest.mark.browser
def test_a_player_with_little_skill_arrives_too(page: Page) -> None:
    """From wherever a bad move led, there is a way on."""
    page.evaluate(START, {"seed": 5, "level": 2})
    rng = random.Random(0)
    for _ in range(60):
        if page.evaluate("window.verify().done"):
            break
        perform(page, reference.play(page.evaluate("game.state()"), rng, skill=0.5))
    assert page.evaluate("window.verify().success")


@pytest.mark.browser
def test_bad_options_are_sentences(page: Page) -> None:
    script = "options => { try { game.start(options) } catch (error) { return error.message } }"
    refused: list[tuple[dict[str, Any], str]] = [
        ({"distance": [4, 2]}, "takes [least, most]"),
        ({"distance": 3}, "takes [least, most]"),
        ({"blocks": 12}, "option blocks takes a whole number from 1 to 11"),
        ({"blocks": 1, "distance": [9, 9]}, "no 1 to 1 blocks 9 to 9 slides from freedom"),
    ]
    for options, words in refused:
        assert words in page.evaluate(script, {"seed": 1, **options})
