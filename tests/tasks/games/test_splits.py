"""No level of the evaluation occurs in training: the levels themselves differ, not only their seeds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from tars_jax.tasks.games.catalog import game_names, load_game
from tars_jax.tasks.games.pictures import chromium, open_game
from tars_jax.tasks.sampling import sample_task

pytestmark = pytest.mark.browser

# game: options, what of the first state makes the level, levels of each split, whether no two of these are alike
LEVELS: dict[str, tuple[dict[str, Any], tuple[str, ...], int, bool]] = {
    "emoji_sort_master": ({"level": 3}, ("tubes",), 200, True),
    "energy": ({"level": 3}, ("tiles",), 200, True),
    "free_the_key": ({"level": 1}, ("blocks",), 200, False),
    "gem_11": ({"level": 1}, ("gems",), 100, True),
    "hex_frvr": ({"level": 1}, ("places", "tray"), 100, True),
    "infinity_loop": ({"level": 4}, ("tiles",), 400, True),
    "laser_maze_puzzle": ({"level": 1}, ("source", "mirrors", "walls", "targets"), 200, True),
    "maze_path_of_light": ({"distance": [2, 4]}, ("walls", "start", "exit"), 800, True),
    "merge_and_double": ({"level": 3}, ("columns", "block", "next"), 200, True),
    "shapes": ({"level": 2}, ("outline", "pieces"), 60, True),
    "snake_solver": ({"level": 2}, ("walls", "fruits", "exit", "body"), 150, True),
    "tiles_master": ({"level": 3}, ("tiles",), 150, True),
    "wood_blocks_3d": ({"level": 3}, ("blocks", "offered"), 100, True),
    "yarn_untangle": ({"level": 4}, ("balls", "threads"), 60, True),
}
LEVEL_OF = """([seeds, options, fields]) => seeds.map((seed) => {
  game.start({ ...options, seed });
  const state = game.state();
  return JSON.stringify(fields.map((field) => state[field]));
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


def test_all_games_are_here() -> None:
    """But 2048: its levels begin with two tiles, and play makes them what they are."""
    assert {*LEVELS, "game_2048"} == set(game_names())


@pytest.mark.parametrize("name", LEVELS)
def test_no_evaluation_level_occurs_in_training(browser: Browser, name: str) -> None:
    options, fields, count, all_differ = LEVELS[name]
    page = open_game(browser, load_game(name), 96, 96)
    splits = []
    for split in ("train", "eval"):
        tasks = [sample_task(name, split, index, seed, options) for seed in (0, 1) for index in range(-(-count // 2))]
        levels = page.evaluate(LEVEL_OF, [[task.seed for task in tasks], options, list(fields)])
        assert len(levels) == count and (len(set(levels)) == count or not all_differ)
        splits.append(set(levels))
    assert not splits[0] & splits[1]
    page.close()
