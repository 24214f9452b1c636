"""A reference player of Hex FRVR: it looks two pieces ahead and keeps the board smooth."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Mapping
from typing import Any

from tars_jax.tasks.games.moves import Move, cell_point

Place = tuple[int, int]  # q, r
Piece = tuple[Place, ...]
Lay = tuple[int, int]  # the tray's slot, the places that its piece takes as bits

WIDEST = 8  # ways to lay a piece that are looked at further
LINE_WORTH = 12  # in the units of `worth`


class HexBoard:
    """Boards as numbers: one bit a place. The bits of a row follow each other; a row is `width` bits after the last."""

    def __init__(self, side: int) -> None:
        self.reach, self.width = side - 1, 2 * side + 1
        across = range(-self.reach, self.reach + 1)
        self.places = [(q, r) for r in across for q in across if abs(q + r) <= self.reach]
        self.all = self.bits(self.places)
        self.beyond = (1 << self.width * self.width) - 1 & ~self.all
        self.lines = [
            self.bits([(q, r) for q, r in self.places if (q, r, q + r)[axis] == line])
            for axis in range(3)
            for line in across
        ]
        self.ways = functools.cache(self._ways)

    def bits(self, places: list[Place]) -> int:
        return sum(1 << (r + self.reach + 1) * self.width + q + self.reach + 1 for q, r in places)

    def _ways(self, piece: Piece) -> list[int]:
        laid = ([(q + dq, r + dr) for dq, dr in piece] for q, r in self.places)
        return [self.bits(way) for way in laid if all(place in self.places for place in way)]

    def lay(self, taken: int, way: int) -> tuple[int, int]:
        """The cells that are taken after a piece was laid, and the number of lines that vanished."""
        taken |= way
        full = [line for line in self.lines if taken & line == line]
        return taken & ~functools.reduce(int.__or__, full, 0), len(full)

    def worth(self, taken: int) -> int:
        """The worth of a board: little lies on it, and its free places border on few others."""
        free, solid = self.all & ~taken, taken | self.beyond
        ragged = sum(
            (free & solid >> step).bit_count() + (free & solid << step).bit_count()
            for step in (1, self.width, self.width - 1)
        )
        return -2 * taken.bit_count() - ragged


@functools.cache
def board_of(side: int) -> HexBoard:
    return HexBoard(side)


def lays(board: HexBoard, taken: int, tray: tuple[Piece, ...]) -> Iterator[Lay]:
    """Every legal way to lay every piece."""
    for slot, piece in enumerate(tray):
        for way in board.ways(piece):
            if not way & taken:
                yield slot, way


def best_lay(board: HexBoard, taken: int, tray: tuple[Piece, ...], depth: int) -> tuple[int, Lay | None]:
    """The best worth after `depth` pieces of the tray, and the first of them; None if no piece fits."""
    found = []
    for slot, way in lays(board, taken, tray):
        after, lines = board.lay(taken, way)
        found.append((board.worth(after) + LINE_WORTH * lines, slot, way, after, lines))
    if not found:
        return -1000, None
    found.sort(key=lambda one: -one[0])
    if depth == 1 or len(tray) == 1:
        return found[0][0], found[0][1:3]
    best: tuple[int, Lay] | None = None
    for _, slot, way, after, lines in found[:WIDEST]:
        further, _ = best_lay(board, after, tray[:slot] + tray[slot + 1 :], depth - 1)
        if best is None or further + LINE_WORTH * lines > best[0]:
            best = further + LINE_WORTH * lines, (slot, way)
    assert best is not None
    return best


def play(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """One drag. With probability `skill` the best of two pieces ahead, else any legal one.

    The thought says how many lines are done, which piece goes, where its first hexagon comes to lie (row and place in
    the row, both from 0), and how many lines that clears.
    """
    board = board_of(state["side"])
    taken = board.bits([(one["q"], one["r"]) for one in state["places"] if one["shape"] is not None])
    tray = tuple(tuple((q, r) for q, r in piece["places"]) for piece in state["tray"])
    lay = best_lay(board, taken, tray, depth=2)[1]
    if lay is None:
        raise ValueError("no piece of Hex FRVR fits any more")
    if rng.random() >= skill:
        lay = rng.choice(list(lays(board, taken, tray)))
    slot, way = lay
    _, lines = board.lay(taken, way)
    spots = [one for one in state["places"] if way & board.bits([(one["q"], one["r"])])]
    row = spots[0]["r"] + board.reach
    at = spots[0]["q"] + board.reach + min(0, spots[0]["r"])
    thought = f"{state['lines']} of {state['wanted']} lines, piece {slot} to {row} {at}"
    if lines:
        thought += f", clears {lines}"
    start = cell_point(state, state["tray"][slot]["x"] - 0.5, state["tray"][slot]["y"] - 0.5)
    x, y = (sum(one[axis] for one in spots) / len(spots) for axis in ("x", "y"))
    return Move(thought, "drag", {"start_point": start, "end_point": cell_point(state, x - 0.5, y - 0.5)})
