"""A reference player of Laser Maze Puzzle: it follows the light and tries what each mirror on its way can do."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from tars_jax.tasks.games.moves import Move, cell_point

Cell = tuple[int, int]  # column, row
Ray = tuple[Cell, Cell]  # the cell that light leaves, and its direction as a step

DIRECTIONS = {"up": (0, -1), "right": (1, 0), "down": (0, 1), "left": (-1, 0)}
STOPPED, MIRROR, SPLITTER = "stopped", "mirror", "splitter"


def reflect(turn: int, direction: Cell) -> Cell:
    """The direction after a mirror that lies "-", "\\", "|" or "/" (turns 0 to 3); along a mirror light passes."""
    dx, dy = direction
    return ((dx, -dy), (dy, dx), (-dx, dy), (-dy, -dx))[turn]


def solve(state: Mapping[str, Any]) -> dict[Cell, int] | None:
    """The clicks on each mirror that light every target, with the fewest clicks in all; None if there is no way.

    No beam is sent straight back, which no level asks for. The fewest clicks get fewer with every click of the plan, so
    the player needs no memory.
    """
    size = state["size"]
    turns = {tuple(piece["at"]): piece["turn"] for kind in ("mirrors", "splitters") for piece in state[kind]}
    kinds = {tuple(piece["at"]): MIRROR for piece in state["mirrors"]}
    kinds |= {tuple(piece["at"]): SPLITTER for piece in state["splitters"]}
    kinds |= {(column, row): STOPPED for column, row in [*state["walls"], state["source"]["at"]]}
    best: tuple[float, dict[Cell, int] | None] = (float("inf"), None)

    def follow(rays: list[Ray], clicks: dict[Cell, int], seen: set[Ray], dark: set[Cell], cost: int) -> None:
        nonlocal best
        while rays and cost < best[0]:
            ray = rays.pop()
            if ray in seen:
                continue
            seen.add(ray)
            (column, row), (dx, dy) = ray
            cell = (column + dx, row + dy)
            kind = kinds.get(cell)
            if kind == STOPPED or not (0 <= cell[0] < size and 0 <= cell[1] < size):
                continue
            dark.discard(cell)
            if not dark:
                best = (cost, clicks)
                return
            if kind != MIRROR:
                rays.append((cell, (dx, dy)))
            if kind == SPLITTER:
                rays.append((cell, reflect(turns[cell], (dx, dy))))
            if kind == MIRROR and cell in clicks:
                rays.append((cell, reflect((turns[cell] + clicks[cell]) % 4, (dx, dy))))
            elif kind == MIRROR:
                for count in range(4):
                    onward = reflect((turns[cell] + count) % 4, (dx, dy))
                    if onward != (-dx, -dy):
                        follow([*rays, (cell, onward)], {**clicks, cell: count}, set(seen), set(dark), cost + count)
                return

    column, row = state["source"]["at"]
    targets = {(column, row) for column, row in state["targets"]}
    follow([((column, row), DIRECTIONS[state["source"]["direction"]])], {}, set(), targets, 0)
    return best[1]


def play(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """One click. With probability `skill` on the first mirror of the beam that stands wrong, else on any mirror."""
    plan = solve(state)
    if plan is None:
        raise ValueError("this board of Laser Maze Puzzle has no solution")
    if rng.random() < skill:
        column, row = next(cell for cell, count in plan.items() if count)
    else:
        column, row = rng.choice(state["mirrors"])["at"]
    thought = f"{state['lit']} of {len(state['targets'])} targets lit, mirror {column} {row}"
    return Move(thought, "click", {"point": cell_point(state, column, row)})
