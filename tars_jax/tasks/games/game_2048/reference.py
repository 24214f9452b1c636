"""A reference player of 2048: expectimax of depth 2 over the explicit state."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Mapping
from typing import Any

from tars_jax.tasks.games.moves import Move

Line = tuple[int, ...]
Board = tuple[Line, ...]  # rows of numbers, 0 where a place is empty

DIRECTIONS = ("up", "right", "down", "left")
# A snake into the lower right corner: tiles that grow along it are easy to merge.
SNAKE = tuple(4.0**power for power in (3, 2, 1, 0, 4, 5, 6, 7, 11, 10, 9, 8, 12, 13, 14, 15))
SPAWNS_TRIED = 4  # empty places that a chance node looks at, spread evenly over the board


@functools.lru_cache(maxsize=1 << 16)
def pack(line: Line) -> Line:
    """A line slid towards its first place; a tile merges once."""
    packed: list[int] = []
    mergeable = False
    for value in filter(None, line):
        if mergeable and packed[-1] == value:
            packed[-1] *= 2
            mergeable = False
        else:
            packed.append(value)
            mergeable = True
    return (*packed, *(0 for _ in range(len(line) - len(packed))))


def slide(board: Board, direction: str) -> Board:
    """The board after a slide, before a tile spawns; the same board where the slide is not legal."""
    if direction == "left":
        return tuple(pack(line) for line in board)
    if direction == "right":
        return tuple(pack(line[::-1])[::-1] for line in board)
    columns = tuple(zip(*board, strict=True))
    return tuple(zip(*slide(columns, "left" if direction == "up" else "right"), strict=True))


def legal_directions(board: Board) -> list[str]:
    return [direction for direction in DIRECTIONS if slide(board, direction) != board]


def value(board: Board) -> float:
    """The worth of a board: its large tiles stand along the snake. A board without moves is worth nothing."""
    return sum(weight * tile for weight, tile in zip(SNAKE, (tile for line in board for tile in line), strict=True))


def spawns(board: Board) -> Iterator[tuple[float, Board]]:
    """Boards after a spawn with their probabilities: a 2 or a 4 on some of the empty places."""
    empty = [(row, column) for row, line in enumerate(board) for column, tile in enumerate(line) if not tile]
    tried = empty[:: max(1, len(empty) // SPAWNS_TRIED)]
    for row, column in tried:
        for tile, probability in ((2, 0.9), (4, 0.1)):
            line = (*board[row][:column], tile, *board[row][column + 1 :])
            yield probability / len(tried), (*board[:row], line, *board[row + 1 :])


def best_value(board: Board, depth: int) -> float:
    """The expected value of the best play from a board where it is the player's turn, `depth` slides ahead."""
    after = [slide(board, direction) for direction in DIRECTIONS]
    worths = [expected_value(moved, depth - 1) for moved in after if moved != board]
    return max(worths, default=0.0)


def expected_value(board: Board, depth: int) -> float:
    """The expected value of a board before the spawn, with `depth` more slides."""
    if depth == 0:
        return value(board)
    return sum(probability * best_value(spawned, depth) for probability, spawned in spawns(board))


def play(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """One arrow key. With probability `skill` the best of depth 2, else any legal direction."""
    board: Board = tuple(tuple(line) for line in state["tiles"])
    legal = legal_directions(board)
    if rng.random() < skill:
        direction = max(legal, key=lambda name: expected_value(slide(board, name), 1))
    else:
        direction = rng.choice(legal)
    empty = sum(tile == 0 for line in board for tile in line)
    largest = max(tile for line in board for tile in line)
    thought = f"{largest} of {state['target']}, {empty} empty, {direction}"
    return Move(thought, "hotkey", {"key": direction})
