"""A reference player of the maze: breadth-first search over the explicit state."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.tasks.games.moves import Move, cell_point

DIRECTIONS = {"up": (0, -1), "right": (1, 0), "down": (0, 1), "left": (-1, 0)}

LOOKAHEAD = 8  # moves of the way that a thought names, at most

Cell = tuple[int, int]  # column, row


def distances_to(walls: Sequence[Sequence[Sequence[str]]], goal: Cell) -> dict[Cell, int]:
    """Shortest path length to `goal` from every cell that reaches it; `walls[row][column]` lists open directions."""
    distances = {goal: 0}
    queue = [goal]
    for column, row in queue:
        for direction in walls[row][column]:
            dx, dy = DIRECTIONS[direction]
            cell = (column + dx, row + dy)
            if cell not in distances:
                distances[cell] = distances[column, row] + 1
                queue.append(cell)
    return distances


def shortest_way(state: Mapping[str, Any], rng: random.Random) -> list[str]:
    """Directions from the player's cell to the exit; ties are broken evenly by `rng`."""
    column, row = state["player"]
    distances = distances_to(state["walls"], tuple(state["exit"]))
    way: list[str] = []
    while distances[column, row]:
        nearer = {
            direction: (column + dx, row + dy)
            for direction in state["walls"][row][column]
            for dx, dy in [DIRECTIONS[direction]]
            if distances[column + dx, row + dy] < distances[column, row]
        }
        way.append(rng.choice(list(nearer)))
        column, row = nearer[way[-1]]
    return way


def play(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """One click. With probability `skill` the first move of a shortest way, else any open direction.

    The thought says where the player and the exit are, the way (its first moves, if it is long), and the move: a small
    policy learns to see and to plan from the words, which the bare move would not teach it.
    """
    column, row = state["player"]
    exit_column, exit_row = state["exit"]
    way = shortest_way(state, rng)
    direction = way[0] if rng.random() < skill else rng.choice(list(state["walls"][row][column]))
    dx, dy = DIRECTIONS[direction]
    thought = f"{column} {row} to {exit_column} {exit_row}, {' '.join(way[:LOOKAHEAD])}, {direction}"
    return Move(thought, "click", {"point": cell_point(state, column + dx, row + dy)})
