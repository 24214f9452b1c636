"""A reference player of Shapes: it fills the outline gap by gap, with backtracking."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tars_jax.tasks.games.moves import Move, cell_point

STRIDE = 32  # bits of a column: a cell is the bit STRIDE * column + row, which leaves room so that no piece wraps

Cell = tuple[int, int]  # column, row
Piece = tuple[int, int]  # its number, and its cells as bits from its first one, the uppermost of its left column
Plan = dict[int, Cell]  # where the first cell of each piece goes


def cells_at(cells: Sequence[Sequence[int]], at: Sequence[int]) -> list[Cell]:
    """The cells that a piece covers with its first cell at `at`."""
    return [(at[0] + x, at[1] + y) for x, y in cells]


def bits_of(cells: Iterable[Sequence[int]]) -> int:
    return sum(1 << STRIDE * column + row for column, row in cells)


def has_island(gaps: int, smallest: int) -> bool:
    """Whether some connected region of gaps is too small for the smallest piece."""
    while gaps:
        island, grown = 0, gaps & -gaps
        while grown != island:
            island = grown
            grown |= (grown << 1 | grown >> 1 | grown << STRIDE | grown >> STRIDE) & gaps
        if island.bit_count() < smallest:
            return True
        gaps ^= island
    return False


@functools.lru_cache(maxsize=1 << 16)
def fill(pieces: tuple[Piece, ...], gaps: int) -> tuple[Piece, ...] | None:
    """Pieces that cover every gap exactly, each as (number, bit of its first cell): the first such plan, gap by gap.

    Because it is the first, it stays the plan while one of its own placements after another is made: the player needs
    no memory. Pieces may be left over. None if there is no plan.
    """
    if not gaps:
        return ()
    if not pieces or has_island(gaps, min(cells.bit_count() for _, cells in pieces)):
        return None
    first = (gaps & -gaps).bit_length() - 1
    tried = set()
    for at, (index, cells) in enumerate(pieces):
        covered = cells << first  # with its first cell on the first gap, which no other cell of it can cover
        if cells in tried or covered & ~gaps:
            continue
        tried.add(cells)
        rest = fill(pieces[:at] + pieces[at + 1 :], gaps ^ covered)
        if rest is not None:
            return ((index, first), *rest)
    return None


def plan_for(state: Mapping[str, Any], placed: Mapping[int, Sequence[int]]) -> Plan | None:
    """Places of the pieces that are not `placed` yet, first gap first."""
    shapes = {index: piece["cells"] for index, piece in enumerate(state["pieces"])}
    gaps = bits_of(state["outline"]) - sum(bits_of(cells_at(shapes[index], at)) for index, at in placed.items())
    free = tuple((index, bits_of(cells)) for index, cells in shapes.items() if index not in placed)
    plan = fill(free, gaps)
    return None if plan is None else {index: divmod(first, STRIDE) for index, first in plan}


def next_placement(state: Mapping[str, Any]) -> tuple[int, Cell]:
    """The piece to move and where its first cell goes: into the first gap of the plan.

    Pieces that already lie in the outline stay while the rest can still be filled; else the first of them that the plan
    for the empty outline does not want there goes home.
    """
    placed = {index: tuple(piece["at"]) for index, piece in enumerate(state["pieces"]) if piece["at"]}
    plan = plan_for(state, placed)
    if plan:
        return next(iter(plan.items()))
    plan = plan_for(state, {})
    if plan is None:
        raise ValueError("this outline of Shapes cannot be filled")
    index = next(index for index, at in placed.items() if plan.get(index) != at)
    column, row = state["pieces"][index]["home"]
    return index, (column, row)


def any_placement(state: Mapping[str, Any], rng: random.Random) -> tuple[int, Cell]:
    """Any piece of the tray, or the selected one, and any place where it fits; the tray where it fits nowhere."""
    pieces, selected = state["pieces"], state["selected"]
    free = [index for index, piece in enumerate(pieces) if not piece["at"]] or list(range(len(pieces)))
    index = selected["index"] if selected else rng.choice(free)
    covered = {
        cell
        for other, piece in enumerate(pieces)
        if piece["at"] and other != index
        for cell in cells_at(piece["cells"], piece["at"])
    }
    gaps = {(column, row) for column, row in state["outline"]} - covered
    places = [at for at in sorted(gaps) if gaps.issuperset(cells_at(pieces[index]["cells"], at))]
    column, row = rng.choice(places or [pieces[index]["home"]])
    return index, (column, row)


def play(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """One click: on a piece, or, with the piece selected, on its place. With probability `skill` as planned."""
    index, target = next_placement(state) if rng.random() < skill else any_placement(state, rng)
    piece = state["pieces"][index]
    column, row = piece["at"] or piece["home"]
    selected = state["selected"]
    chosen = selected is not None and selected["index"] == index
    x, y = piece["cells"][selected["held"]] if chosen else (0, 0)
    place = (target[0] + x, target[1] + y) if chosen else (column, row)
    thought = f"{column} {row} fits {target[0]} {target[1]}, {'put' if chosen else 'take'} {place[0]} {place[1]}"
    return Move(thought, "click", {"point": cell_point(state, *place)})
