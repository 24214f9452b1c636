"""A reference player of Yarn Untangle: steepest descent on the number of crossings."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from tars_jax.tasks.games.moves import Move, cell_point


def side(a: np.ndarray, b: np.ndarray, point: np.ndarray) -> np.ndarray:
    """On which side of the line a-b points lie, as -1, 0 or 1; all are [..., 2] and broadcast."""
    turn = (b[..., 0] - a[..., 0]) * (point[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (point[..., 0] - a[..., 0])
    return np.sign(turn)


def touch(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Whether the segments a-b and c-d ([..., 2] each, whole numbers) have a point in common: [...] bool."""
    apart = (side(a, b, c) * side(a, b, d) > 0) | (side(c, d, a) * side(c, d, b) > 0)
    boxes = (np.maximum(a, b) >= np.minimum(c, d)) & (np.maximum(c, d) >= np.minimum(a, b))
    return ~apart & boxes.all(-1)


def along(shared: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Whether of two segments with a common end `shared` ([..., 2] each) one lies along the other: [...] bool."""
    return (side(shared, one, other) == 0) & (((one - shared) * (other - shared)).sum(-1) > 0)


def crossings_with(ball: int, at: np.ndarray, balls: np.ndarray, threads: np.ndarray) -> np.ndarray:
    """Crossings of a ball's threads if it lay at each of the places `at` [P, 2]: [P].

    `balls` [N, 2] are the places of all balls, `threads` [T, 2] the balls that each thread joins.
    """
    mine = (threads == ball).any(1)
    ends = threads[mine].sum(1) - ball  # the other end of each thread of this ball
    others = threads[~mine]
    place, end = at[:, None, None], balls[ends][None, :, None]  # [P, 1, 1, 2], [1, E, 1, 2]
    first, second = balls[others[:, 0]], balls[others[:, 1]]  # [O, 2]
    met = touch(place, end, first, second)  # [P, E, O]
    for which, far in ((0, second), (1, first)):
        common = ends[:, None] == others[:, which]  # [E, O]
        met = np.where(common, along(end, place, far), met)
    own = along(place, end, balls[ends])  # [P, E, E]
    return met.sum((1, 2)) + np.triu(own, 1).sum((1, 2))


def gains(size: int, balls: np.ndarray, threads: np.ndarray) -> np.ndarray:
    """Crossings that each move takes away: [balls, places], places row by row; the least integer where one is taken."""
    rows, columns = np.divmod(np.arange(size * size), size)
    at = np.stack([columns, rows], 1)
    taken = (at[:, None] == balls).all(-1).any(1)
    table = []
    for ball, home in enumerate(balls):
        now = crossings_with(ball, home[None], balls, threads)
        table.append(np.where(taken, np.iinfo(np.int64).min, now - crossings_with(ball, at, balls, threads)))
    return np.array(table)


def play(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """One drag. With probability `skill` the move that takes away the most crossings, else any move.

    Ties go to the first ball and place: this is the descent that the level was made to have. Away from it, where no
    move takes a crossing away, one that adds none is chosen at random.
    """
    size, balls = state["size"], np.array(state["balls"])
    table = gains(size, balls, np.array(state["threads"]))
    if rng.random() < skill:
        best = np.flatnonzero(table == table.max())
        choice = best[0] if table.max() > 0 else rng.choice(best)
    else:
        choice = rng.choice(np.flatnonzero(table > np.iinfo(np.int64).min))
    ball, place = divmod(int(choice), size * size)
    (column, row), (to_row, to_column) = state["balls"][ball], divmod(place, size)
    thought = f"{state['crossings']} crossings, {column} {row} to {to_column} {to_row}"
    points = {"start_point": cell_point(state, column, row), "end_point": cell_point(state, to_column, to_row)}
    return Move(thought, "drag", points)
