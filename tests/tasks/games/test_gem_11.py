"""Gem 11: its rules in a real Chromium, its levels, and its reference player on gems laid by hand."""

from __future__ import annotations

import random
from typing import Any

import pytest
from playwright.sync_api import Page

from tars_jax.tasks.games.catalog import load_game
from tars_jax.tasks.games.gem_11 import reference
from tars_jax.tasks.games.pictures import perform

GAME = "gem_11"

START = "options => { game.start(options); return game.state() }"
SEEDED = "([seeds, options]) => seeds.map(seed => { game.start({...options, seed}); return game.state() })"


def state_of(gems: list[list[int]], target: int) -> dict[str, Any]:
    side = len(gems)
    board = {"x": 0, "y": 0, "cell": 96 // side, "width": 96, "height": 96}
    largest = max(gem for line in gems for gem in line)
    view = {"board": board, "viewport": {"width": 96, "height": 96}}
    return {"gems": gems, "size": side, "target": target, "largest": largest, **view}


def click(page: Page, state: dict[str, Any], column: int, row: int) -> dict[str, Any]:
    board = state["board"]
    page.mouse.click(board["x"] + board["cell"] * (column + 0.5), board["y"] + board["cell"] * (row + 0.5))
    after: dict[str, Any] = page.evaluate("game.state()")
    return after


def test_groups_and_merges() -> None:
    gems = (1, 1, 2, 3, 1, 2, 3, 2, 3)  # 1 1 2 / 3 1 2 / 3 2 3
    assert sorted(map(sorted, reference.groups(gems, 3))) == [[0, 1, 4], [2, 5], [3, 6]]
    assert reference.merge(gems, 3, [0, 1, 4], 1) == (0, 0, 2, 3, 2, 2, 3, 2, 3)  # the new 2 falls onto the old one
    assert reference.merge(gems, 3, [0, 1, 4], 0) == (2, 0, 2, 3, 0, 2, 3, 2, 3)


def test_the_player_merges_where_the_next_merge_waits() -> None:
    # Two 3 make a 4; only at the right one it comes to lie beside the other 4.
    state = state_of([[1, 2, 1, 2], [2, 1, 2, 1], [1, 2, 1, 2], [2, 3, 3, 4]], 5)
    move = reference.play(state, random.Random(0))
    assert move.thought == "4 of 5, merge 2 of 3 at 2 3"
    assert move.parameters == {"point": (625, 875)}


def test_a_lost_board_is_an_error() -> None:
    with pytest.raises(ValueError, match="no equal gems touch"):
        reference.play(state_of([[1, 2], [2, 1]], 4), random.Random(0))


@pytest.mark.browser
def test_a_group_gathers_where_it_was_clicked_and_gems_fall(page: Page) -> None:
    after = page.evaluate(
        """() => {
            const gems = [[1, 1, 2], [3, 1, 2], [3, 2, 3]];
            const { gems: left, group, at } = merged(gems, 1, 0, () => 9);
            return [left, group.length, at, merged(gems, 1, 2, () => 9), canMerge(gems), canMerge([[1, 2], [2, 1]])];
        }"""
    )
    assert after == [[[9, 9, 2], [3, 2, 2], [3, 2, 3]], 3, [1, 1], None, True, False]


@pytest.mark.browser
def test_clicks_on_lonely_gems_change_nothing(page: Page) -> None:
    state = page.evaluate(START, {"seed": 3, "level": 5})
    gems = tuple(gem for line in state["gems"] for gem in line)
    grouped = {place for group in reference.groups(gems, state["size"]) for place in group}
    for place in set(range(len(gems))) - grouped:
        assert click(page, state, place % state["size"], place // state["size"]) == state
    group = next(reference.groups(gems, state["size"]))
    after = click(page, state, group[0] % state["size"], group[0] // state["size"])
    assert after["moves"] == 1 and after["score"] == len(group) * gems[group[0]]
    expected = reference.merge(gems, state["size"], group, group[0])
    now = [gem for line in after["gems"] for gem in line]
    assert all(new == old for new, old in zip(now, expected, strict=True) if old)


@pytest.mark.browser
def test_levels_begin_low_and_with_something_to_merge(page: Page) -> None:
    for level in range(1, 9):
        for state in page.evaluate(SEEDED, [list(range(50)), {"level": level}]):
            gems = tuple(gem for line in state["gems"] for gem in line)
            assert set(gems) <= set(range(state["lowest"], state["lowest"] + 3)) and max(gems) < state["target"]
            assert next(reference.groups(gems, state["size"]), None)
    assert state["target"] == 11


@pytest.mark.browser
def test_clicking_at_random_rarely_reaches_the_number(page: Page) -> None:
    play = """([seeds, steps]) => seeds.filter(seed => {
        game.start({ seed, level: 3 });
        const { size, target, ...news } = game.state();
        const stream = Kit.random("gem_11", seed, 3), random = Kit.random("clicks", seed);
        let gems = makeLevel(stream, size, news);
        for (let step = 0; step < steps && largest(gems) < target && canMerge(gems); step++) {
            const fresh = () => newGem(stream, largest(gems), news);
            gems = merged(gems, random.below(size), random.below(size), fresh)?.gems ?? gems;
        }
        return largest(gems) >= target;
    }).length"""
    assert page.evaluate(play, [list(range(20)), load_game("gem_11").steps_of_level(3)]) <= 2


@pytest.mark.full
@pytest.mark.browser
def test_the_reference_player_takes_more_merges_with_every_level(page: Page) -> None:
    """Of the middle ones, whose boards are equally large."""
    means = []
    for level in range(3, 7):
        steps = 0
        for seed in range(3):
            state, rng = page.evaluate(START, {"seed": seed, "level": level}), random.Random(seed)
            while not state["done"]:
                perform(page, reference.play(state, rng))
                state, steps = page.evaluate("game.state()"), steps + 1
            assert state["success"]
        means.append(steps / 3)
    assert means == sorted(set(means)), means


@pytest.mark.browser
def test_a_game_can_be_lost(page: Page) -> None:
    page.evaluate(START, {"seed": 1, "size": 3, "target": 12})
    rng = random.Random(0)
    while not (state := page.evaluate("game.state()"))["done"]:
        perform(page, reference.play(state, rng, skill=0.0))
    verdict = page.evaluate("window.verify()")
    assert verdict == {name: state[name] for name in ("score", "level", "lives", "done", "success")}
    assert (verdict["lives"], verdict["success"]) == (0, False) and verdict["score"] > 0


@pytest.mark.browser
@pytest.mark.parametrize("seed", [45, 61])  # where equal gems were once hoarded until the budget was over
def test_the_player_merges_in_time(page: Page, seed: int) -> None:
    state = page.evaluate(START, {"seed": seed, "level": 3})
    rng = random.Random(seed)
    for _ in range(load_game("gem_11").steps_of_level(3)):
        if state["done"]:
            break
        perform(page, reference.play(state, rng))
        state = page.evaluate("game.state()")
    assert state["success"]
