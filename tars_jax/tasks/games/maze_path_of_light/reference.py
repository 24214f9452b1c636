"""A reference player of the maze: breadth-first search over the explicit state."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.tasks.games.moves import Move, cell_point

DIRECTIONS = {"up": (0, -1), "right": (1, 0), "down": (0, 1), "left": (-1, 0)}

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


def optimal_directions(state: Mapping[str, Any]) -> list[str]:
    """The open directions from the player's cell that shorten the way to the exit."""
    column, row = state["player"]
    distances = distances_to(state["walls"], tuple(state["exit"]))
    here = distances[column, row]
    return [
        direction
        for direction in state["walls"][row][column]
        if distances[column + DIRECTIONS[direction][0], row + DIRECTIONS[direction][1]] < here
    ]


def play(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """One click. With probability `skill` an optimal move, else any open direction; ties are broken evenly by `rng`."""
    column, row = state["player"]
    exit_column, exit_row = state["exit"]
    directions = optimal_directions(state) if rng.random() < skill else list(state["walls"][row][column])
    direction = rng.choice(directions)
    dx, dy = DIRECTIONS[direction]
    thought = f"{column} {row} to {exit_column} {exit_row}, {state['distance']} away, {direction}"
    return Move(thought, "click", {"point": cell_point(state, column + dx, row + dy)})
