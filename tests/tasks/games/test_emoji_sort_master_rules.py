"""Emoji Sort Master: its rules in a real Chromium, its levels, and its reference player on positions made by hand."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from playwright.sync_api import Page

from tars_jax.tasks.games.emoji_sort_master import reference
from tests.tasks.games.states import SEEDED, read, start

GAME = "emoji_sort_master"

OUTCOMES = """boards => boards.map(([tubes, capacity]) => [
    groups(tubes), isSorted(tubes, capacity), pours(tubes, capacity), isSolvable(tubes, capacity)])"""


def point(state: dict[str, Any], tube: int) -> tuple[float, float]:
    x, y = reference.cell_point(state, *state["places"][tube])
    return 0.096 * x, 0.096 * y


def board_of(state: dict[str, Any]) -> reference.Board:
    return tuple(tuple(tube) for tube in state["tubes"])


@pytest.mark.browser
def test_two_clicks_and_a_drag_pour_alike(page: Page) -> None:
    state = start(page, seed=1, level=3)
    begin, end = next(reference.legal_pours(board_of(state), 4))
    page.mouse.click(*point(state, begin))
    assert read(page) == {**state, "selected": begin}
    page.mouse.click(*point(state, end))
    poured = read(page)
    assert board_of(poured) == reference.pour(board_of(state), begin, end)
    assert poured["moves"] == 1 and poured["selected"] is None
    start(page, seed=1, level=3)
    page.mouse.move(*point(state, begin))
    page.mouse.down()
    page.mouse.move(*point(state, end))
    page.mouse.up()
    assert read(page) == poured


@pytest.mark.browser
def test_what_is_not_allowed_moves_no_face(page: Page) -> None:
    state = start(page, seed=2, level=4)
    legal = set(reference.legal_pours(board_of(state), 4))
    count = len(state["tubes"])
    for begin, end in [(0, end) for end in range(count)] + [(begin, count - 1) for begin in range(count)]:
        if (begin, end) not in legal:
            start(page, seed=2, level=4)
            page.mouse.click(*point(state, begin))
            page.mouse.click(*point(state, end))
            after = read(page)
            assert (after["tubes"], after["moves"]) == (state["tubes"], 0)
    empty = state["tubes"].index([])
    start(page, seed=2, level=4)
    page.mouse.click(*point(state, empty))
    assert read(page) == state


@pytest.mark.browser
def test_rules_on_positions_made_by_hand(page: Page) -> None:
    known = page.evaluate(
        OUTCOMES,
        [
            [[["sad", "sad"], ["shy", "shy", "shy"], ["sad"], []], 3],  # one pour, either way
            [[["sad", "sad", "sad"], ["shy", "shy", "shy"], []], 3],  # sorted: moving a whole tube changes nothing
            [[["sad", "shy", "sad"], ["shy", "sad", "shy"]], 3],  # nothing is open
            [[["shy", "sad", "sad"], ["shy", "sad"], ["shy"]], 3],  # a group of two does not fit into one place
        ],
    )
    assert known == [
        [3, False, [[0, 2], [2, 0]], True],
        [2, True, [], True],
        [6, False, [], False],
        [5, False, [], False],
    ]


@pytest.mark.browser
def test_a_lost_game(page: Page) -> None:
    """Pouring at random with one empty tube ends without a move: no life is left, and the game stands still."""
    rng = random.Random(0)
    state = start(page, seed=3, level=4)
    while not state["done"]:
        begin, end = rng.choice(list(reference.legal_pours(board_of(state), 4)))
        page.mouse.click(*point(state, begin))
        page.mouse.click(*point(state, end))
        expected = reference.pour(board_of(state), begin, end)
        state = read(page)
        assert board_of(state) == expected
    assert page.evaluate("window.verify()") == {
        "score": state["score"], "level": 4, "lives": 0, "done": True, "success": False,
    }  # fmt: skip
    page.mouse.click(*point(state, 0))
    assert read(page) == state and not list(reference.legal_pours(board_of(state), 4))


@pytest.mark.browser
def test_levels_can_be_sorted(page: Page) -> None:
    for level, kinds, capacity, empty in [(1, 4, 3, 2), (2, 4, 4, 2), (3, 4, 4, 1), (5, 7, 4, 2), (8, 12, 4, 2)]:
        for state in page.evaluate(SEEDED, [list(range(50 if level < 5 else 10)), level]):
            board = board_of(state)
            assert len(board) == kinds + empty
            assert set(Counter(kind for tube in board for kind in tube).values()) == {capacity}
            way = reference.solve(board, capacity)
            assert way
            if level <= 2:
                assert len(way) >= state["start_groups"] - kinds == 2 * level  # joins, and what makes room for them


@pytest.mark.browser
def test_every_face_stands_out_from_every_tube_at_the_policys_size(page: Page) -> None:
    """A violet face in a violet tube of sorted ones was all but invisible."""
    colors: list[list[str]] = page.evaluate(
        "[Object.values(FACE_COLORS), [FLAT_TUBE, FLAT_CHOSEN, FLAT_FINISHED, FLAT_GROUND]]"
    )
    faces, tubes = ([bytes.fromhex(color[1:]) for color in some] for some in colors)
    assert len(faces) == 12
    for face in faces:
        for tube in tubes:
            assert sum(abs(one - other) for one, other in zip(face, tube, strict=True)) > 100


def hand_made(tubes: list[list[str]], **changes: Any) -> dict[str, Any]:
    view = {"board": {"x": 0, "y": 0, "cell": 16, "width": 96, "height": 96}, "viewport": {"width": 96, "height": 96}}
    places = [[column, 3] for column in range(len(tubes))]
    return {"tubes": tubes, "capacity": 3, "selected": None, "places": places, **view, **changes}


MIXED = [["sad", "shy", "shy"], ["shy", "sad", "sad"], []]


def test_known_answer() -> None:
    assert reference.solve(tuple(map(tuple, MIXED)), 3) == ((0, 2), (1, 0), (1, 2))
    assert reference.solve((("sad", "shy", "sad"), ("shy", "sad", "shy")), 3) is None
    move = reference.play(hand_made(MIXED), random.Random(0))
    assert move.thought == "shy from 0 to 2, take 0" and move.parameters == {"point": (83, 583)}
    assert reference.play(hand_made(MIXED, selected=0), random.Random(0)).thought == "shy from 0 to 2, put 2"
    assert reference.play(hand_made(MIXED, selected=1), random.Random(0)).thought == "shy from 0 to 2, take 0"


def test_a_way_is_kept_while_it_is_followed() -> None:
    rng = random.Random(7)
    for _ in range(20):
        faces = [kind for kind in "abcdef" for _ in range(4)]
        rng.shuffle(faces)
        board: reference.Board = (*(tuple(faces[i : i + 4]) for i in range(0, 24, 4)), (), ())
        way = reference.solve(board, 4)
        while way:
            board = reference.pour(board, *way[0])
            assert reference.solve(board, 4) == way[1:]
            way = way[1:]


def test_without_skill_or_hope_every_pour_is_legal() -> None:
    rng = random.Random(1)
    thoughts = Counter(reference.play(hand_made(MIXED), rng, skill=0.0).thought for _ in range(60))
    assert set(thoughts) == {"shy from 0 to 2, take 0", "sad from 1 to 2, take 1"}
    hopeless = [["sad", "shy", "sad"], ["shy", "sad", "shy"], ["wow", "wow"], ["wow"]]
    assert reference.play(hand_made(hopeless), rng).thought.startswith("wow from")
