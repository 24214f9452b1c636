"""A reference player of Energy: it works out how the wires grew, and turns the tiles back."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Mapping
from typing import Any

from tars_jax.tasks.games.infinity_loop.reference import NEIGHBOURS, Domain, bits_of, prune, rotations
from tars_jax.tasks.games.moves import Move, cell_point

Cell = tuple[int, int]  # column, row
Tile = tuple[str, bool, int]  # kind, whether it is fixed, the sides that its wires reach as bits
Board = tuple[tuple[Tile, ...], ...]  # rows of tiles
Wires = dict[Cell, int]  # the bits of every tile

MOST_SOLUTIONS = 64


def reach(domains: Mapping[Cell, Domain], sources: list[Cell]) -> set[Cell]:
    """The tiles that power can come to while each tile stands in any position of its domain."""
    sides = {cell: functools.reduce(int.__or__, (bits for _, bits in domain)) for cell, domain in domains.items()}
    queue = list(sources)
    seen = set(queue)
    for column, row in queue:
        for side, (dx, dy) in enumerate(NEIGHBOURS):
            other = (column + dx, row + dy)
            if other in sides and other not in seen and sides[column, row] >> side & sides[other] >> (side + 2) % 4 & 1:
                seen.add(other)
                queue.append(other)
    return seen


def search(domains: dict[Cell, Domain], order: list[Cell], sources: list[Cell], wired: set[Cell]) -> Iterator[Wires]:
    """All ways to stand that close every line and feed every wire, in an order that no turn of a tile changes."""
    if not wired <= reach(domains, sources):
        return
    undecided = next((cell for cell in order if len(domains[cell]) > 1), None)
    if undecided is None:
        yield {cell: domain[0][1] for cell, domain in domains.items()}
        return
    for option in domains[undecided]:
        narrowed = {**domains, undecided: (option,)}
        if prune(narrowed, [undecided]):
            yield from search(narrowed, order, sources, wired)


@functools.lru_cache(maxsize=16)
def solutions(board: Board) -> tuple[Wires, ...]:
    """The first `MOST_SOLUTIONS` ways to feed every tile of a board without an open line."""
    domains: dict[Cell, Domain] = {}
    height, width = len(board), len(board[0])
    for row, line in enumerate(board):
        for column, (_, fixed, wires) in enumerate(line):
            border = (row == 0) * 1 | (column == width - 1) * 2 | (row == height - 1) * 4 | (column == 0) * 8
            options = ((0, wires),) if fixed else rotations(wires)
            domains[column, row] = tuple(option for option in options if not option[1] & border)
    if not all(domains.values()) or not prune(domains, list(domains)):
        return ()
    order = sorted(domains, key=lambda cell: (cell[1], cell[0]))
    sources = [cell for cell in order if board[cell[1]][cell[0]][0] == "source"]
    wired = {cell for cell in order if board[cell[1]][cell[0]][2]}
    found: list[Wires] = []
    for solution in search(domains, order, sources, wired):
        found.append(solution)
        if len(found) == MOST_SOLUTIONS:
            break
    return tuple(found)


def normal(tile: Tile) -> Tile:
    """The tile in the one of its positions that stands for all of them."""
    kind, fixed, wires = tile
    return tile if fixed else (kind, fixed, min(bits for _, bits in rotations(wires)))


def turns_to(tile: int, goal: int) -> int:
    """Clockwise quarter turns from one position to another."""
    return next(times for times, bits in rotations(tile) if bits == goal)


def plan(board: Board) -> dict[Cell, int]:
    """The turns of each wrong tile in the solution that needs the fewest, the first of those; empty if there is none.

    Solutions are worked out on the board's normal form, so they and their order stay while tiles turn, and the one
    that is nearest stays the nearest while its own turns are made: the player needs no memory.
    """
    plans = [
        {
            (column, row): turns
            for row, line in enumerate(board)
            for column, (_, _, wires) in enumerate(line)
            if (turns := turns_to(wires, goal[column, row]))
        }
        for goal in solutions(tuple(tuple(normal(tile) for tile in line) for line in board))
    ]
    return min(plans, key=lambda turns: sum(turns.values()), default={})


def play(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """One click. With probability `skill` the first wrong tile in reading order, else any tile that turns.

    The thought says how many lamps shine, which tile turns, and how often it has to.
    """
    board: Board = tuple(
        tuple((tile["kind"], tile["fixed"], bits_of(tile["sides"])) for tile in line) for line in state["tiles"]
    )
    turns = plan(board)
    if not turns:
        raise ValueError("no way to feed every tile of this board of Energy is known")
    if rng.random() < skill:
        column, row = min(turns, key=lambda cell: (cell[1], cell[0]))
    else:
        loose = [
            (column, row)
            for row, line in enumerate(board)
            for column, (_, fixed, wires) in enumerate(line)
            if not fixed and len(rotations(wires)) > 1
        ]
        column, row = rng.choice(loose)
    thought = f"{state['lit']} of {state['lamps']} lamps, turn {column} {row}"
    if (column, row) in turns:
        thought += f", {turns[column, row]} to go"
    return Move(thought, "click", {"point": cell_point(state, column, row)})
