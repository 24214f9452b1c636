"""Reference players on states made by hand."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from tars_jax.tasks.games.game_2048 import reference as game_2048
from tars_jax.tasks.games.infinity_loop import reference as infinity_loop
from tars_jax.tasks.games.maze_path_of_light import reference as maze
from tars_jax.tasks.games.moves import cell_point

VIEW_96 = {"viewport": {"width": 96, "height": 96}}


def maze_state(player: list[int], exit_cell: list[int], distance: int) -> dict[str, Any]:
    """Three by three cells in a ring around a closed middle, open to the right only:

    a-b-c
    |   |
    d e-f
    |   |
    g-h-i
    """
    walls = [
        [["right", "down"], ["right", "left"], ["down", "left"]],
        [["up", "down"], ["right"], ["up", "down", "left"]],
        [["up", "right"], ["right", "left"], ["up", "left"]],
    ]
    board = {"x": 0, "y": 0, "cell": 32, "width": 96, "height": 96}
    return {
        "size": 3,
        "walls": walls,
        "player": player,
        "exit": exit_cell,
        "distance": distance,
        "board": board,
        **VIEW_96,
    }


def test_maze_distances() -> None:
    # From the middle: out to f, then both ways round the ring; d is farthest, f-c-b-a-d = f-i-h-g-d.
    distances = maze.distances_to(maze_state([0, 0], [1, 1], 4)["walls"], (1, 1))
    assert distances == {
        (1, 1): 0, (2, 1): 1, (2, 0): 2, (2, 2): 2, (1, 0): 3, (1, 2): 3, (0, 0): 4, (0, 2): 4, (0, 1): 5,
    }  # fmt: skip


def test_maze_single_optimal_move() -> None:
    move = maze.play(maze_state([0, 0], [1, 1], 4), random.Random(0))
    assert move.thought == "0 0 to 1 1, right right down left, right"
    assert move.function == "click"
    assert move.parameters == {"point": (500, 167)}  # cell 1 0: 48 of 96 and 16 of 96


def test_maze_breaks_ties_evenly() -> None:
    state = maze_state([0, 1], [1, 1], 5)
    rng = random.Random(1)
    counts = Counter(maze.play(state, rng).thought.split()[-1] for _ in range(400))
    assert set(counts) == {"up", "down"}
    assert 150 < counts["up"] < 250


def test_maze_without_skill_takes_any_open_way_and_says_so() -> None:
    state = maze_state([2, 1], [1, 1], 1)
    rng = random.Random(2)
    moves = [maze.play(state, rng, skill=0.0) for _ in range(300)]
    points = {"up": (833, 167), "down": (833, 833), "left": (500, 500)}
    counts = Counter(move.thought.split()[-1] for move in moves)
    assert set(counts) == set(points) and min(counts.values()) > 60
    assert all(move.parameters["point"] == points[move.thought.split()[-1]] for move in moves)
    half = Counter(maze.play(state, rng, skill=0.4).thought.split()[-1] for _ in range(1000))
    assert 0.53 < half["left"] / 1000 < 0.67  # 0.4 + 0.6 / 3


def test_points_follow_the_board_on_a_large_screen() -> None:
    board = {"x": 600, "y": 60, "cell": 100, "width": 600, "height": 600}
    state = {"board": board, "viewport": {"width": 1280, "height": 720}}
    assert cell_point(state, 0, 5) == (round(650 / 1.28), round(610 / 0.72))


@pytest.mark.parametrize(
    ("line", "packed"),
    [
        ((0, 0, 0, 0), (0, 0, 0, 0)),
        ((0, 2, 0, 2), (4, 0, 0, 0)),
        ((2, 2, 2, 0), (4, 2, 0, 0)),
        ((2, 2, 2, 2), (4, 4, 0, 0)),
        ((4, 2, 2, 0), (4, 4, 0, 0)),  # a tile merges once
        ((2, 4, 8, 16), (2, 4, 8, 16)),
    ],
)
def test_2048_line(line: tuple[int, ...], packed: tuple[int, ...]) -> None:
    assert game_2048.pack(line) == packed


def test_2048_slides_in_all_directions() -> None:
    board = ((2, 0, 0, 0), (2, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 4))
    empty = (0, 0, 0, 0)
    assert game_2048.slide(board, "up") == ((4, 0, 0, 4), empty, empty, empty)
    assert game_2048.slide(board, "down") == (empty, empty, empty, (4, 0, 0, 4))
    assert game_2048.slide(board, "left") == ((2, 0, 0, 0), (2, 0, 0, 0), empty, (4, 0, 0, 0))
    assert game_2048.slide(board, "right") == ((0, 0, 0, 2), (0, 0, 0, 2), empty, (0, 0, 0, 4))


def test_2048_plays_legal_moves_only() -> None:
    tiles = [[2, 4, 8, 16], [4, 8, 16, 32], [8, 16, 32, 64], [16, 32, 64, 0]]
    rng = random.Random(0)
    moves = [
        game_2048.play({"tiles": tiles, "target": 128}, rng, skill=skill) for skill in (0.0, 1.0) for _ in range(20)
    ]
    assert {move.parameters["key"] for move in moves} <= {"right", "down"}
    assert moves[-1].thought == f"64 of 128, 1 empty, {moves[-1].parameters['key']}"


def test_2048_merges_the_large_tiles() -> None:
    tiles = [[0, 0, 0, 0], [0, 0, 0, 2], [0, 0, 0, 4], [0, 0, 64, 64]]
    assert game_2048.play({"tiles": tiles, "target": 128}, random.Random(0)).parameters["key"] in ("left", "right")


def loop_state(tiles: list[list[list[str]]], open_ends: int) -> dict[str, Any]:
    cell = 96 // len(tiles)
    board = {"x": 0, "y": 0, "cell": cell, "width": 96, "height": 96}
    return {"tiles": tiles, "open_ends": open_ends, "board": board, **VIEW_96}


def test_infinity_loop_known_answer() -> None:
    # Four corners close in one way only: a ring. From "up right" they need 1, 2, 0 and 3 turns.
    corner = ["up", "right"]
    tiles = [[corner, corner], [corner, corner]]
    assert infinity_loop.solve([[infinity_loop.bits_of(tile) for tile in line] for line in tiles]) == [[1, 2], [0, 3]]
    move = infinity_loop.play(loop_state(tiles, 6), random.Random(0))
    assert move.thought == "6 open ends, turn 0 0"
    assert move.parameters == {"point": (250, 250)}


def test_infinity_loop_sees_that_a_board_cannot_close() -> None:
    assert infinity_loop.solve([[1, 0], [0, 0]]) is None
    assert infinity_loop.solve([[5, 5], [5, 5]]) is None  # straight lines run into the border


def test_infinity_loop_without_skill_turns_what_turns() -> None:
    tiles: list[list[list[str]]] = [[["right"], ["left"], []], [[], ["up"], []], [[], ["down"], []]]
    rng = random.Random(3)
    thoughts = {infinity_loop.play(loop_state(tiles, 2), rng, skill=0.0).thought for _ in range(100)}
    assert thoughts == {f"2 open ends, turn {place}" for place in ("0 0", "1 0", "1 1", "1 2")}


def test_infinity_loop_turns_as_little_as_it_can() -> None:
    # Six ends in pairs. First in reading order (0 0 stays) are 0+3, 2+2, 3+3 turns, 13; the fewest are 3+0, 0+0, 2+0.
    ends = [[["down"], ["left"]], [["down"], ["down"]], [["down"], ["up"]]]
    turns = infinity_loop.solve([[infinity_loop.bits_of(tile) for tile in line] for line in ends])
    assert turns == [[3, 0], [0, 0], [2, 0]]


@pytest.mark.parametrize("seed", range(30))
def test_infinity_loop_keeps_to_one_solution(seed: int) -> None:
    """A random solvable board is closed in exactly as many turns as its first solution has."""
    rng = random.Random(seed)
    size = rng.randint(2, 7)
    tiles = [[0] * size for _ in range(size)]
    for row in range(size):
        for column in range(size):
            if column + 1 < size and rng.random() < 0.6:
                tiles[row][column] |= 2
                tiles[row][column + 1] |= 8
            if row + 1 < size and rng.random() < 0.6:
                tiles[row][column] |= 4
                tiles[row + 1][column] |= 1
    tiles = [[infinity_loop.turned(tile, rng.randrange(4)) for tile in line] for line in tiles]
    turns = infinity_loop.solve(tiles)
    assert turns is not None
    for left in range(sum(map(sum, turns)), 0, -1):
        turns = infinity_loop.solve(tiles)
        assert turns is not None and sum(map(sum, turns)) == left
        row, column = next((r, c) for r in range(size) for c in range(size) if turns[r][c])
        tiles[row][column] = infinity_loop.turned(tiles[row][column], 1)
    assert infinity_loop.solve(tiles) == [[0] * size for _ in range(size)]
