"""A reference player of Wood Blocks 3D: looks ahead over all pieces on offer and keeps the board open and smooth."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tars_jax.tasks.games.moves import Move, cell_point

BEAM = 6  # boards that are looked at further after each piece
SEARCHED = 20_000  # boards that are looked at where none of these leads on
LINE = 6.0  # what a cleared line is worth, in edges between wood and empty cells
BLOCK = 0.4  # what an empty cell is worth

Cells = Sequence[Sequence[int]]


class PiecePlacement(NamedTuple):
    """One way to put a piece down; `mask` has the bit row * size + column of each of its cells."""

    piece: int  # which of the pieces on offer
    column: int
    row: int
    mask: int


class PlacementPlan(NamedTuple):
    worth: float
    board: int
    left: frozenset[int]  # pieces still to be put down
    first: PiecePlacement | None


class BitBoard:
    """Bit boards of one size."""

    def __init__(self, size: int) -> None:
        self.size = size
        row = (1 << size) - 1
        column = sum(1 << size * line for line in range(size))
        self.lines = [row << size * line for line in range(size)] + [column << line for line in range(size)]
        self.all = (1 << size * size) - 1
        self._not_last = self.all & ~(column << size - 1)
        self._edges = [row, row << size * (size - 1), column, column << size - 1]

    def places(self, piece: int, cells: Cells) -> list[PiecePlacement]:
        """All ways to put a piece on the empty board."""
        wide, high = (1 + max(cell[axis] for cell in cells) for axis in (0, 1))
        shape = sum(1 << y * self.size + x for x, y in cells)
        return [
            PiecePlacement(piece, column, row, shape << row * self.size + column)
            for row in range(self.size - high + 1)
            for column in range(self.size - wide + 1)
        ]

    def after(self, board: int, place: PiecePlacement) -> tuple[int, int]:
        """The board after a piece was put down, and how many lines went."""
        filled = board | place.mask
        full = [line for line in self.lines if filled & line == line]
        for line in full:
            filled &= ~line
        return filled, len(full)

    def worth(self, board: int) -> float:
        """The worth of a board at rest: many empty cells, few edges between wood (or the rim) and empty cells."""
        across = ((board ^ board >> 1) & self._not_last).bit_count()
        down = ((board ^ board >> self.size) & (self.all >> self.size)).bit_count()
        rim = sum((~board & edge).bit_count() for edge in self._edges)
        return BLOCK * (self.all & ~board).bit_count() - across - down - rim


def next_plans(
    at: BitBoard, plan: PlacementPlan, places: Mapping[int, Sequence[PiecePlacement]]
) -> Iterator[PlacementPlan]:
    so_far = plan.worth - at.worth(plan.board)
    for piece in sorted(plan.left):
        for place in places[piece]:
            if not place.mask & plan.board:
                board, lines = at.after(plan.board, place)
                yield PlacementPlan(
                    so_far + LINE * lines + at.worth(board), board, plan.left - {piece}, plan.first or place
                )  # fmt: skip


def deepest_plan(at: BitBoard, start: PlacementPlan, places: Mapping[int, Sequence[PiecePlacement]]) -> PlacementPlan:
    """A way to put all pieces down, by depth-first search; one that puts down the most if none is found."""
    deepest = start
    seen: set[tuple[int, frozenset[int]]] = set()
    waiting = [start]
    while waiting and deepest.left and len(seen) < SEARCHED:
        for plan in next_plans(at, waiting.pop(), places):
            if (plan.board, plan.left) in seen:
                continue
            seen.add((plan.board, plan.left))
            waiting.append(plan)
            if len(plan.left) < len(deepest.left):
                deepest = plan
    return deepest


def look_ahead(at: BitBoard, board: int, places: Mapping[int, Sequence[PiecePlacement]]) -> PiecePlacement | None:
    """The first placement of the best way to put all pieces down; None if no piece fits."""
    start = PlacementPlan(at.worth(board), board, frozenset(places), None)
    beam = [start]
    for _ in places:
        reached: dict[tuple[int, frozenset[int]], PlacementPlan] = {}
        for plan in beam:
            for following in next_plans(at, plan, places):
                known = reached.get((following.board, following.left))
                if known is None or following.worth > known.worth:
                    reached[following.board, following.left] = following
        beam = sorted(reached.values(), key=lambda plan: plan.worth, reverse=True)[:BEAM]
    if beam:
        return beam[0].first
    return deepest_plan(at, start, places).first


def play(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """One drag. With probability `skill` the first of the best way to put all pieces down, else any that fits."""
    size, offered = state["size"], state["offered"]
    at = BitBoard(size)
    board = sum(
        1 << row * size + column for row in range(size) for column in range(size) if state["blocks"][row][column]
    )
    places = {index: at.places(index, piece["cells"]) for index, piece in enumerate(offered) if piece}
    best = look_ahead(at, board, places) if rng.random() < skill else None
    if best is None:
        best = rng.choice([place for ways in places.values() for place in ways if not place.mask & board])
    wide, high = (1 + max(cell[axis] for cell in offered[best.piece]["cells"]) for axis in (0, 1))
    thought = f"{state['lines']} of {state['target']} lines, piece {best.piece + 1} to {best.column} {best.row}"
    slot = ((best.piece + 0.5) * size / len(offered) - 0.5, size + state["offer_rows"] / 2 - 0.5)
    points = {
        "start_point": cell_point(state, *slot),
        "end_point": cell_point(state, best.column + wide / 2 - 0.5, best.row + high / 2 - 0.5),
    }
    return Move(thought, "drag", points)
