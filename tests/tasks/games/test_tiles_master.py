"""Tiles Master: its rules in a real Chromium, its levels, and its reference player on tables made by hand."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from playwright.sync_api import Page

from tars_jax.tasks.games.tiles_master.reference import TileTable, blockers_of, play

GAME = "tiles_master"

START = "options => { game.start(options); return game.state() }"


def tile(kind: str, column: int, row: int, layer: int = 0) -> dict[str, Any]:
    return {"kind": kind, "column": column, "row": row, "layer": layer}


def click(page: Page, one: dict[str, Any]) -> dict[str, Any]:
    """The state after a click on the middle of a tile: a half tile is 8 pixels wide."""
    page.mouse.click(8 * one["column"] + 8, 8 * one["row"] + 8)
    state: dict[str, Any] = page.evaluate("game.state()")
    return state


@pytest.mark.browser
def test_three_of_a_kind_stand_together_and_vanish(page: Page) -> None:
    assert page.evaluate("taken(['leaf', 'drop'], 'leaf')") == {
        "tray": ["leaf", "leaf", "drop"], "at": 1, "vanished": False,
    }  # fmt: skip
    assert page.evaluate("taken(['leaf', 'leaf', 'drop'], 'leaf')") == {"tray": ["drop"], "at": 2, "vanished": True}
    state = page.evaluate(START, {"seed": 1, "level": 1})
    kind = state["tiles"][0]["kind"]
    same = [one for one in state["tiles"] if one["kind"] == kind]
    scores = [click(page, one)["score"] for one in same]
    assert scores == [0, 0, 3] and page.evaluate("game.state().tray") == []


@pytest.mark.browser
def test_only_free_tiles_can_be_taken(page: Page) -> None:
    state = page.evaluate(START, {"seed": 2, "level": 7})
    covered = [one for one in state["tiles"] if not one["free"]]
    assert len(covered) > 20
    for one in covered:
        for dx in (2, 14):
            for dy in (2, 14):
                x, y = 8 * one["column"] + dx, 8 * one["row"] + dy
                if page.evaluate("([x, y]) => tileAt(game.state().tiles, x / 8, y / 8).id", [x, y]) == one["id"]:
                    page.mouse.click(x, y)
    for place in range(7):  # the tray itself
        page.mouse.click(14 * place + 7, 90)
    assert page.evaluate("game.state()") == state
    free = next(one for one in state["tiles"] if one["free"])
    after = click(page, free)
    assert after["tray"] == [free["kind"]] and after["moves"] == 1 and len(after["tiles"]) == len(state["tiles"]) - 1


@pytest.mark.browser
def test_a_full_tray_is_lost_and_stays_so(page: Page) -> None:
    state = page.evaluate(START, {"seed": 3, "level": 6})
    while not state["done"]:
        counts = Counter(state["tray"])
        state = click(page, min((one for one in state["tiles"] if one["free"]), key=lambda one: counts[one["kind"]]))
    verdict = page.evaluate("window.verify()")
    assert (verdict["done"], verdict["success"], verdict["lives"]) == (True, False, 0)
    assert len(state["tray"]) == 7 and max(Counter(state["tray"]).values()) < 3
    free = next(one for one in state["tiles"] if one["free"])
    assert click(page, free) == state


@pytest.mark.browser
def test_levels_stack_well_and_can_be_won(page: Page) -> None:
    counts = {1: 6, 2: 12, 3: 18, 4: 24, 5: 33, 6: 42, 7: 54, 8: 72, 9: 72}
    script = "([level, seeds]) => seeds.map(seed => { game.start({level, seed}); return game.state() })"
    for level, count in counts.items():
        for state in page.evaluate(script, [level, list(range(50 if level in (1, 3) else 6))]):
            tiles = state["tiles"]
            assert len(tiles) == count == state["total"]
            assert all(number % 3 == 0 for number in Counter(one["kind"] for one in tiles).values())
            blockers = blockers_of(tiles)
            assert [one["free"] for one in tiles] == [mask == 0 for mask in blockers]
            for index, one in enumerate(tiles):
                assert 0 <= one["column"] <= 10 and 0 <= one["row"] <= 8
                below = [other for other in range(count) if blockers[other] >> index & 1]
                assert one["layer"] == 0 or sum(tiles[other]["layer"] == one["layer"] - 1 for other in below) >= 2
            way = TileTable(tiles, [], 7).clear()
            assert way is not None
            left, tray = set(range(count)), Counter[str]()
            for index in way:
                assert not any(blockers[index] >> other & 1 for other in left)
                left.remove(index)
                tray[tiles[index]["kind"]] += 1
                assert sum(number % 3 for number in tray.values()) < 7
            assert not left


def state_of(tiles: list[dict[str, Any]], tray: list[str]) -> dict[str, Any]:
    free = [mask == 0 for mask in blockers_of(tiles)]
    return {
        "tiles": [{**one, "free": is_free} for one, is_free in zip(tiles, free, strict=True)],
        "tray": tray,
        "places": 7,
        "board": {"x": 0, "y": 0, "cell": 16, "width": 96, "height": 96},
        "viewport": {"width": 96, "height": 96},
    }


def test_the_player_completes_what_it_can() -> None:
    tiles = [tile("leaf", 0, 0), tile("drop", 4, 0), tile("drop", 6, 0), tile("drop", 8, 0)]
    state = state_of([*tiles, tile("leaf", 0, 4), tile("cat", 4, 4), tile("cat", 6, 4)], ["leaf", "cat"])
    assert play(state, random.Random(0)).thought == "2 in tray, leaf 1, take leaf 0 0"
    assert play(state, random.Random(0)).parameters == {"point": (83, 83)}


def test_the_player_digs_only_where_the_tray_has_room() -> None:
    # Six lie in the tray. The leaf that completes a three lies under a cat; a drop that lies open completes another.
    tiles = [tile("leaf", 0, 0), tile("cat", 1, 1, 1), tile("drop", 4, 4), tile("cat", 8, 8)]
    tray = ["leaf", "leaf", "drop", "drop", "cat", "moon"]
    table = TileTable([*tiles, tile("moon", 8, 0), tile("moon", 8, 4)], tray, 7)
    assert table.clear() == [2, 1, 0, 3, 4, 5] or table.clear() == [2, 1, 3, 0, 4, 5]
    without_drop = TileTable([tiles[0], tiles[1], tiles[3], tile("moon", 8, 0), tile("moon", 8, 4)], tray, 7)
    assert without_drop.clear() is None


def test_the_player_without_skill_takes_any_free_tile() -> None:
    state = state_of([tile("leaf", 0, 0), tile("leaf", 1, 1, 1), tile("leaf", 6, 6)], [])
    thoughts = {play(state, random.Random(seed), skill=0.0).thought for seed in range(40)}
    assert thoughts == {"0 in tray, leaf 0, take leaf 1 1", "0 in tray, leaf 0, take leaf 6 6"}
