"""A reference player of Infinity-Loop: it solves the visible board as a constraint problem."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.tasks.games.moves import Move, cell_point

SIDES = ("up", "right", "down", "left")  # bits 1, 2, 4, 8, clockwise
NEIGHBOURS = ((0, -1), (1, 0), (0, 1), (-1, 0))  # column, row of the tile on each side

Turns = list[list[int]]  # clockwise quarter turns of each tile, [row][column]
Domain = tuple[tuple[int, int], ...]  # what a tile can still be: (quarter turns, bits), fewest turns first


def bits_of(sides: Sequence[str]) -> int:
    return sum(1 << SIDES.index(side) for side in sides)


def turned(tile: int, times: int) -> int:
    """A tile's bits after clockwise quarter turns."""
    return ((tile << times) | (tile >> (4 - times))) & 15


def rotations(tile: int) -> Domain:
    """The distinct positions of a tile, each with the fewest turns that lead there."""
    seen: dict[int, int] = {}
    for times in range(4):
        seen.setdefault(turned(tile, times), times)
    return tuple((times, bits) for bits, times in seen.items())


def prune(domains: dict[tuple[int, int], Domain], queue: list[tuple[int, int]]) -> bool:
    """Arc consistency from the tiles in `queue`, in place: a position stays while the neighbour can agree with it.

    False if some tile has no position left.
    """
    while queue:
        column, row = queue.pop()
        domain = domains[column, row]
        for side, (dx, dy) in enumerate(NEIGHBOURS):
            other = (column + dx, row + dy)
            if other not in domains:
                continue
            here = {bits >> side & 1 for _, bits in domain}
            kept = tuple(option for option in domains[other] if option[1] >> (side + 2) % 4 & 1 in here)
            if not kept:
                return False
            if len(kept) < len(domains[other]):
                domains[other] = kept
                queue.append(other)
    return True


def solve(tiles: Sequence[Sequence[int]]) -> Turns | None:
    """The turns that close every line: the fewest in all and, of several such, those that are first in reading order.

    None if there are none. One of its own turns brings this solution nearer and no other one past it: it stays the
    solution, and the player needs no memory.
    """
    domains: dict[tuple[int, int], Domain] = {}
    height, width = len(tiles), len(tiles[0])
    for row, line in enumerate(tiles):
        for column, tile in enumerate(line):
            border = (row == 0) * 1 | (column == width - 1) * 2 | (row == height - 1) * 4 | (column == 0) * 8
            domain = tuple(option for option in rotations(tile) if not option[1] & border)
            if not domain:
                return None
            domains[column, row] = domain
    if not prune(domains, list(domains)):
        return None
    order = sorted(domains, key=lambda place: (place[1], place[0]))
    solution = _search(domains, order, 0, None)
    if solution is None:
        return None
    return [[solution[column, row][0][0] for column in range(width)] for row in range(height)]


Domains = dict[tuple[int, int], Domain]


def _turns(domains: Domains) -> int:
    """The fewest turns in all that the domains leave; of a solution, its turns."""
    return sum(min(times for times, _ in domain) for domain in domains.values())


def _search(domains: Domains, order: list[tuple[int, int]], at: int, best: Domains | None) -> Domains | None:
    """The best solution within the domains if it has fewer turns than `best`, else `best` (branch and bound)."""
    if best is not None and _turns(domains) >= _turns(best):
        return best
    while at < len(order) and len(domains[order[at]]) == 1:
        at += 1
    if at == len(order):
        return domains
    for option in domains[order[at]]:
        narrowed = {**domains, order[at]: (option,)}
        if prune(narrowed, [order[at]]):
            best = _search(narrowed, order, at + 1, best)
    return best


def play(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """One click. With probability `skill` the first wrong tile in reading order, else any tile that turns."""
    tiles = [[bits_of(sides) for sides in line] for line in state["tiles"]]
    turns = solve(tiles)
    if turns is None:
        raise ValueError("this board of Infinity-Loop has no solution")
    places = [(column, row) for row, line in enumerate(tiles) for column in range(len(line))]
    if rng.random() < skill:
        column, row = next(place for place in places if turns[place[1]][place[0]])
    else:
        column, row = rng.choice([place for place in places if tiles[place[1]][place[0]] not in (0, 15)])
    thought = f"{state['open_ends']} open ends, turn {column} {row}"
    return Move(thought, "click", {"point": cell_point(state, column, row)})
