"""A reference player of Tetris: the resting place that leaves the flattest well with the fewest holes.

The weights are those of Yiyuan Lee's published player (heights, lines, holes, bumps).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tars_jax.tasks.games.moves import Move

Shape = tuple[tuple[int, ...], ...]
Board = Sequence[Sequence[int]]
HEIGHT, LINE, HOLE, BUMP = -0.51, 0.76, -0.36, -0.18


def turned(shape: Shape) -> Shape:
    """Clockwise."""
    return tuple(zip(*shape[::-1], strict=True))


def fits(board: Board, shape: Shape, x: int, y: int) -> bool:
    return all(
        0 <= y + row < len(board) and 0 <= x + column < len(board[0]) and not board[y + row][x + column]
        for row, line in enumerate(shape)
        for column, full in enumerate(line)
        if full
    )


def worth(board: Board, shape: Shape, x: int, y: int) -> float:
    """The worth of the well once the piece has dropped from (x, y)."""
    while fits(board, shape, x, y + 1):
        y += 1
    filled = [[bool(value) for value in line] for line in board]
    for row, line in enumerate(shape):
        for column, full in enumerate(line):
            if full:
                filled[y + row][x + column] = True
    left = [line for line in filled if not all(line)]
    lines = len(filled) - len(left)
    columns = list(zip(*([[False] * len(board[0])] * lines + left), strict=True))
    heights = [len(column) - column.index(True) if any(column) else 0 for column in columns]
    holes = sum(height - sum(column) for height, column in zip(heights, columns, strict=True))
    bumps = sum(abs(a - b) for a, b in itertools.pairwise(heights))
    return HEIGHT * sum(heights) + LINE * lines + HOLE * holes + BUMP * bumps


def plans(board: Board, shape: Shape, x: int, y: int) -> Iterator[tuple[str, ...]]:
    """Keys that bring the piece above each place that it can reach: turns first, then moves; each lowers it by one."""
    for turns in range(4):
        if turns:
            if not fits(board, turned(shape), x, y):
                return
            shape = turned(shape)
            if not fits(board, shape, x, y + 1):
                return
            y += 1
        for key, way in (("left", -1), ("right", 1)):
            keys, column, row = ("up",) * turns, x, y
            while True:
                yield keys
                if not (fits(board, shape, column + way, row) and fits(board, shape, column + way, row + 1)):
                    break
                keys, column, row = (*keys, key), column + way, row + 1


def play(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """One key. With probability `skill` the next one on the way to the best place, else any."""
    board, piece = state["well"], state["piece"]
    shape: Shape = tuple(tuple(line) for line in piece["shape"])

    def value(keys: tuple[str, ...]) -> tuple[float, int]:
        form = shape
        for _ in range(keys.count("up")):
            form = turned(form)
        x = piece["x"] + keys.count("right") - keys.count("left")
        return worth(board, form, x, piece["y"] + len(keys)), -len(keys)

    best = max(plans(board, shape, piece["x"], piece["y"]), key=value)
    key = (*best, "space")[0] if rng.random() < skill else rng.choice(("left", "right", "up", "down", "space"))
    return Move(f"{len(best)} keys to the place, {key}", "hotkey", {"key": key})
