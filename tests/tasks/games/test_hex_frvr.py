"""Hex FRVR: its rules in a real Chromium, its levels, and its reference player on boards made by hand."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from playwright.sync_api import Page

from tars_jax.tasks.games.catalog import load_game
from tars_jax.tasks.games.hex_frvr import reference
from tars_jax.tasks.games.pictures import perform

GAME = "hex_frvr"

START = "options => { game.start(options); return game.state() }"
SEEDED = "([seeds, options]) => seeds.map(seed => { game.start({...options, seed}); return game.state() })"
BEAM, DOT = ((0, 0), (1, 0), (2, 0), (3, 0)), ((0, 0),)


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> dict[str, Any]:
    """The state after a drag between two places, in cells of the layout."""
    board = page.evaluate("game.state().board")
    for number, (x, y) in enumerate((start, end)):
        page.mouse.move(board["x"] + board["cell"] * x, board["y"] + board["cell"] * y)
        if number == 0:
            page.mouse.down()
    page.mouse.up()
    state: dict[str, Any] = page.evaluate("game.state()")
    return state


def test_a_board_of_three_has_nineteen_places_and_fifteen_lines() -> None:
    board = reference.board_of(3)
    assert len(board.places) == 19
    assert sorted(line.bit_count() for line in board.lines) == [3] * 6 + [4] * 6 + [5] * 3
    assert len(board.ways(BEAM)) == 4 and len(board.ways(DOT)) == 19


def test_the_player_fills_the_gap() -> None:
    # The middle row of five lacks its last place.
    board = reference.board_of(3)
    held = {(-2, 0), (-1, 0), (0, 0), (1, 0)}
    state: dict[str, Any] = {
        "side": 3, "lines": 0, "wanted": 2,
        "places": [
            {"q": q, "r": r, "shape": "stone" if (q, r) in held else None, "x": q + r / 2 + 3, "y": r + 3}
            for q, r in board.places
        ],
        "tray": [{"places": piece, "x": 2 * slot + 1, "y": 7} for slot, piece in enumerate((BEAM[:3], DOT, BEAM[:3]))],
        "board": {"x": 0, "y": 0, "cell": 10, "width": 60, "height": 90}, "viewport": {"width": 100, "height": 100},
    }  # fmt: skip
    move = reference.play(state, random.Random(0))
    assert move.thought == "0 of 2 lines, piece 1 to 2 4, clears 1"
    assert move.parameters == {"start_point": (300, 700), "end_point": (500, 300)}
    with pytest.raises(ValueError, match="no piece of Hex FRVR fits"):
        reference.play({**state, "places": [{**one, "shape": "stone"} for one in state["places"]]}, random.Random(0))


@pytest.mark.browser
def test_full_lines_of_all_directions_vanish_at_once(page: Page) -> None:
    after = page.evaluate(
        """() => {
            const board = makeBoard(3), through = board.lines.filter(line => line.includes(board.at(0, 0)));
            const held = board.places.map((_, place) => through.flat().includes(place) ? "stone" : null);
            held[board.at(0, 0)] = null;
            const { held: left, lines, gone } = laid(board, held, "dot", [board.at(0, 0)]);
            return [left.filter(Boolean), lines, gone.length, turnsOf(BASES.beam).length, turnsOf(BASES.hook).length];
        }"""
    )
    assert after == [[], 3, 13, 3, 6]


@pytest.mark.browser
def test_a_piece_goes_where_it_is_dropped_or_back_to_the_tray(page: Page) -> None:
    state = page.evaluate(START, {"seed": 4, "level": 3, "taken": 20})
    free = {(one["q"], one["r"]): one for one in state["places"] if one["shape"] is None}
    piece = state["tray"][1]
    grip = (piece["x"], piece["y"])
    assert drag(page, grip, (grip[0], 0)) == state  # above the board
    assert drag(page, grip, (grip[0] + 0.1, grip[1])) == state  # a click
    assert drag(page, (0.5, 0.5), (7, 7)) == state  # nothing is taken up there
    q, r = next(place for place in free if all((place[0] + dq, place[1] + dr) in free for dq, dr in piece["places"]))
    way = [free[q + dq, r + dr] for dq, dr in piece["places"]]
    end = (sum(one["x"] for one in way) / len(way) + 0.3, sum(one["y"] for one in way) / len(way) - 0.3)
    after = drag(page, (grip[0] + 1, grip[1] + 1), end)  # anywhere in the slot, and not quite there
    laid = {(one["q"], one["r"]) for one in after["places"] if one["shape"] == piece["shape"]}
    assert laid == {(one["q"], one["r"]) for one in way}
    assert after["moves"] == 1 and after["tray"][0] == state["tray"][0] and after["tray"][2] == state["tray"][2]


@pytest.mark.browser
def test_every_level_starts_without_a_full_line_and_is_won(page: Page) -> None:
    for level in range(1, 9):
        for state in page.evaluate(SEEDED, [list(range(50 if level < 3 else 8)), {"level": level}]):
            board = reference.board_of(state["side"])
            taken = board.bits([(one["q"], one["r"]) for one in state["places"] if one["shape"]])
            assert board.lay(taken, 0) == (taken, 0)
            assert reference.best_lay(board, taken, tuple(tuple(map(tuple, p["places"])) for p in state["tray"]), 1)[1]


@pytest.mark.browser
def test_careless_play_is_lost(page: Page) -> None:
    lost = 0
    for seed in range(6):
        page.evaluate(START, {"seed": seed, "level": 4})
        rng = random.Random(seed)
        while not (state := page.evaluate("game.state()"))["done"]:
            perform(page, reference.play(state, rng, skill=0.0))
        verdict = page.evaluate("window.verify()")
        assert verdict == {name: state[name] for name in ("score", "level", "lives", "done", "success")}
        lost += verdict["lives"] == 0 and not verdict["success"]
    assert lost >= 5


@pytest.mark.browser
def test_bad_options_are_sentences(page: Page) -> None:
    script = "options => { try { game.start(options) } catch (error) { return error.message } }"
    assert "option set takes small or large" in page.evaluate(script, {"seed": 1, "set": "toString"})
    assert "option side takes a whole number from 3 to 5" in page.evaluate(script, {"seed": 1, "side": 9})


@pytest.mark.browser
def test_every_level_has_a_way_within_its_budget(page: Page) -> None:
    """The generator's own player, played again on what it made: its pieces, its board, and the steps that there are."""
    play = """([level, seeds]) => seeds.map(seed => {
        game.start({ level, seed });
        const { side, set, taken, wanted } = game.state();
        let { board, held, pieces } = makeLevel("hex_frvr", seed, level, { side, set, taken, lines: wanted });
        const tray = Array.from({ length: TRAY }, (_, slot) => pieces(slot));
        const shown = game.state();
        const same = shown.places.every(({ shape }, place) => shape === held[place])
            && shown.tray.every(({ shape }, slot) => shape === tray[slot].shape);
        let cleared = 0, steps = 0;
        for (; same && cleared < wanted; steps++) {
            const ways = tray.flatMap((piece, slot) => fitsOf(board, held, piece).map((way) => {
                const after = laid(board, held, piece.shape, way);
                return { ...after, slot, cost: raggedness(board, after.held) - 12 * after.lines };
            }));
            const best = ways.reduce((a, b) => (b.cost < a.cost ? b : a));
            held = best.held;
            cleared += best.lines;
            tray[best.slot] = pieces(TRAY + steps);
        }
        return steps;
    })"""
    game = load_game("hex_frvr")
    means: list[float] = []
    for level in range(1, len(game.levels) + 1):
        steps = page.evaluate(play, [level, list(range(20))])
        assert min(steps) > 0 and max(steps) <= game.steps_of_level(level)
        means.append(sum(steps) / len(steps))
    assert all(longer > shorter + 1 for shorter, longer in itertools.pairwise(means)), means
