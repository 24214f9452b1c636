"""What each game does with particular input, in a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from tars_jax.tasks.games.catalog import load_game
from tars_jax.tasks.games.game_2048.reference import slide
from tars_jax.tasks.games.maze_path_of_light.reference import DIRECTIONS, distances_to
from tars_jax.tasks.games.pictures import chromium, open_game

pytestmark = pytest.mark.browser

SEEDED = "([name, seeds, options]) => seeds.map(seed => { game.start({...options, seed}); return game.state() })"


@pytest.fixture(scope="module")
def pages() -> Iterator[dict[str, Page]]:
    names = ("maze_path_of_light", "game_2048", "infinity_loop")
    with chromium() as browser:
        yield {name: open_game(browser, load_game(name), 96, 96) for name in names}


@pytest.fixture
def maze(pages: dict[str, Page]) -> Page:
    return pages["maze_path_of_light"]


def start(page: Page, **options: Any) -> dict[str, Any]:
    """The state at the start."""
    state: dict[str, Any] = page.evaluate("options => { game.start(options); return game.state() }", options)
    return state


def levels(page: Page, name: str, seeds: list[int], **options: Any) -> list[dict[str, Any]]:
    states: list[dict[str, Any]] = page.evaluate(SEEDED, [name, seeds, options])
    return states


def test_maze_cells_are_patches_of_16_pixels(maze: Page) -> None:
    state = start(maze, seed=0, level=1)
    assert state["board"] == {"x": 0, "y": 0, "cell": 16, "width": 96, "height": 96}


def test_maze_moves_to_open_neighbours_only(maze: Page) -> None:
    for seed in range(4):
        state = start(maze, seed=seed, distance=[6, 8])
        column, row = state["player"]
        open_ways = state["walls"][row][column]
        closed = {
            (x, y)
            for x in range(6)
            for y in range(6)
            if (x - column, y - row) not in [DIRECTIONS[direction] for direction in open_ways]
        }
        for x, y in sorted(closed):
            maze.mouse.click(16 * x + 8, 16 * y + 8)
        assert maze.evaluate("game.state()") == state
        dx, dy = DIRECTIONS[open_ways[0]]
        maze.mouse.click(16 * (column + dx) + 8, 16 * (row + dy) + 8)
        after = maze.evaluate("game.state()")
        assert after["player"] == [column + dx, row + dy] and after["moves"] == 1
        assert after["visited"] == [[column, row], [column + dx, row + dy]]


def test_maze_ignores_other_buttons_and_drags(maze: Page) -> None:
    state = start(maze, seed=1, distance=[6, 8])
    column, row = state["player"]
    dx, dy = DIRECTIONS[state["walls"][row][column][0]]
    x, y = 16 * (column + dx) + 8, 16 * (row + dy) + 8
    maze.mouse.click(x, y, button="right")
    maze.mouse.move(16 * column + 8, 16 * row + 8)
    maze.mouse.down()
    maze.mouse.move(x, y)
    maze.mouse.up()
    assert maze.evaluate("game.state()") == state


def test_maze_obeys_arrow_keys(maze: Page) -> None:
    state = start(maze, seed=2, distance=[6, 8])
    column, row = state["player"]
    for direction, (dx, dy) in DIRECTIONS.items():
        start(maze, seed=2, distance=[6, 8])
        maze.keyboard.press(f"Arrow{direction.capitalize()}")
        there = [column + dx, row + dy] if direction in state["walls"][row][column] else [column, row]
        assert maze.evaluate("game.state().player") == there


def test_maze_score_is_the_way_gained_and_is_never_lost(maze: Page) -> None:
    state = start(maze, seed=3, distance=[5, 5])
    column, row = state["player"]
    distances = distances_to(state["walls"], tuple(state["exit"]))
    direction = next(
        way for way in state["walls"][row][column]
        if distances[column + DIRECTIONS[way][0], row + DIRECTIONS[way][1]] == 4
    )  # fmt: skip
    back = {"up": "Down", "down": "Up", "left": "Right", "right": "Left"}[direction]
    maze.keyboard.press(f"Arrow{direction.capitalize()}")
    assert maze.evaluate("window.verify().score") == 1
    maze.keyboard.press(f"Arrow{back}")
    after = maze.evaluate("game.state()")
    assert (after["score"], after["distance"], after["moves"]) == (1, 5, 2)


def test_maze_levels_are_solvable_in_range_and_their_walls_agree(maze: Page) -> None:
    ranges = {1: (6, 2, 4), 2: (6, 4, 6), 3: (6, 6, 8), 4: (6, 8, 11), 5: (8, 9, 12), 6: (8, 12, 16), 7: (10, 14, 19)}
    for level, (size, low, high) in ranges.items():
        seen = set()
        for state in levels(maze, "maze", list(range(60)), level=level):
            distances = distances_to(state["walls"], tuple(state["exit"]))
            assert len(distances) == size * size == state["size"] ** 2
            assert distances[tuple(state["start"])] == state["start_distance"] == state["distance"]
            assert low <= state["start_distance"] <= high
            seen.add(state["start_distance"])
            openings = 0
            for row, line in enumerate(state["walls"]):
                for column, ways in enumerate(line):
                    openings += len(ways)
                    for way in ways:
                        dx, dy = DIRECTIONS[way]
                        back = next(name for name, step in DIRECTIONS.items() if step == (-dx, -dy))
                        assert back in state["walls"][row + dy][column + dx]
            assert openings // 2 == size * size - 1 + 2  # a spanning tree and two more
        assert len(seen) >= high - low  # the whole range occurs


def test_maze_impossible_distance_is_a_sentence(maze: Page) -> None:
    for distance, words in [
        ([40, 50], "no maze of size 6"),
        ([4, 2], "takes [least, most]"),
        (3, "takes [least, most]"),
    ]:
        script = "options => { try { game.start(options) } catch (error) { return error.message } }"
        assert words in maze.evaluate(script, {"seed": 1, "distance": distance})


def test_2048_slides_by_key_drag_and_click_alike(pages: dict[str, Page]) -> None:
    page = pages["game_2048"]
    for direction, (dx, dy) in DIRECTIONS.items():
        after = []
        for way in ("key", "drag", "click"):
            before = start(page, seed=12, level=4)
            if way == "key":
                page.keyboard.press(f"Arrow{direction.capitalize()}")
            elif way == "drag":
                page.mouse.move(48, 48)
                page.mouse.down()
                page.mouse.move(48 + 30 * dx, 48 + 30 * dy)
                page.mouse.up()
            else:
                page.mouse.click(48 + 44 * dx, 48 + 44 * dy)
            after.append(page.evaluate("game.state()"))
        assert after[0] == after[1] == after[2]
        slid = slide(tuple(map(tuple, before["tiles"])), direction)
        changed = slid != tuple(map(tuple, before["tiles"]))
        new = [
            after[0]["tiles"][row][column]
            for row in range(4)
            for column in range(4)
            if after[0]["tiles"][row][column] != slid[row][column]
        ]
        assert new in ([2], [4]) if changed else new == []
        assert after[0]["moves"] == int(changed)


def test_2048_click_in_the_middle_does_nothing(pages: dict[str, Page]) -> None:
    page = pages["game_2048"]
    before = start(page, seed=12, level=4)
    for x, y in [(48, 48), (40, 55), (60, 40)]:
        page.mouse.click(x, y)
    assert page.evaluate("game.state()") == before


def test_2048_targets_and_a_lost_game(pages: dict[str, Page]) -> None:
    page = pages["game_2048"]
    assert [start(page, seed=0, level=level)["target"] for level in range(1, 10)] == [
        16, 32, 64, 128, 256, 512, 1024, 2048, 2048,
    ]  # fmt: skip
    start(page, seed=0, level=8)
    keys = ["ArrowUp", "ArrowLeft", "ArrowDown", "ArrowRight"]
    for step in range(2000):
        page.keyboard.press(keys[step % 4])
        verdict = page.evaluate("window.verify()")
        if verdict["done"]:
            break
    state = page.evaluate("game.state()")
    assert (verdict["done"], verdict["success"], verdict["lives"]) == (True, False, 0) and verdict["score"] > 0
    assert (state["done"], state["success"], state["lives"], state["legal"]) == (True, False, 0, [])


def test_infinity_loop_turns_clockwise_and_four_turns_are_none(pages: dict[str, Page]) -> None:
    page = pages["infinity_loop"]
    sides = ["up", "right", "down", "left"]
    state = start(page, seed=13, level=3)
    column, row = next((c, r) for r in range(4) for c in range(4) if 0 < len(state["tiles"][r][c]) < 4)
    x, y = 24 * column + 12, 24 * row + 12
    page.mouse.click(x, y)
    tile = {sides[(sides.index(side) + 1) % 4] for side in state["tiles"][row][column]}
    assert set(page.evaluate("game.state()")["tiles"][row][column]) == tile
    for _ in range(3):
        page.mouse.click(x, y)
    after = page.evaluate("game.state()")
    assert after["tiles"] == state["tiles"] and after["moves"] == 4 and after["open_ends"] == state["open_ends"]


def test_infinity_loop_ignores_tiles_that_cannot_turn(pages: dict[str, Page]) -> None:
    page = pages["infinity_loop"]
    for seed in range(20):
        state = start(page, seed=seed, level=6)
        for row, line in enumerate(state["tiles"]):
            for column, tile in enumerate(line):
                if len(tile) in (0, 4):
                    page.mouse.click(16 * column + 8, 16 * row + 8)
        assert page.evaluate("game.state()") == state


def test_infinity_loop_scramble_is_as_wide_as_asked(pages: dict[str, Page]) -> None:
    page = pages["infinity_loop"]
    for state in levels(page, "infinity_loop", list(range(100)), level=1, scrambled=1):
        assert 1 <= state["open_ends"] <= 6  # one wrong tile has at most three ends and faces at most three
