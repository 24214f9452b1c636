"""A reference player of Emoji Sort Master: depth-first search."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Mapping
from typing import Any

from tars_jax.tasks.games.moves import Move, cell_point

SEARCHED = 20_000  # boards that a search looks at before it is given up

Tube = tuple[str, ...]  # kinds from the bottom up
Board = tuple[Tube, ...]
Pour = tuple[int, int]  # from, to


def top_run(tube: Tube) -> int:
    """The number of faces of one kind that lie on top."""
    run = 0
    while run < len(tube) and tube[-run - 1] == tube[-1]:
        run += 1
    return run


def legal_pours(board: Board, capacity: int) -> Iterator[Pour]:
    """Groups that fit onto the same kind, or, where they are not all of their tube, into an empty one."""
    for start, source in enumerate(board):
        for end, target in enumerate(board):
            if not source or start == end or top_run(source) > capacity - len(target):
                continue
            if target[-1] == source[-1] if target else top_run(source) < len(source):
                yield start, end


def pour(board: Board, start: int, end: int) -> Board:
    """The board after the group on top of `start` went to `end`."""
    count = top_run(board[start])
    after = list(board)
    after[end] += board[start][-count:]
    after[start] = board[start][:-count]
    return tuple(after)


def is_sorted(board: Board, capacity: int) -> bool:
    return all(not tube or top_run(tube) == len(tube) == capacity for tube in board)


@functools.lru_cache(maxsize=256)
def solve(board: Board, capacity: int) -> tuple[Pour, ...] | None:
    """Pours that sort the board: the first such way, joins before pours into the first empty tube.

    Every pour joins two groups or fills one more tube with no group more, so a way never comes back to a board, and the
    way that is first stays first while it is followed: the player needs no memory. None if there is no way, or if the
    search is given up.
    """
    failed: set[tuple[Tube, ...]] = set()

    def search(at: Board) -> tuple[Pour, ...] | None:
        if is_sorted(at, capacity):
            return ()
        name = tuple(sorted(at))
        if name in failed or len(failed) > SEARCHED:
            return None
        ways = list(legal_pours(at, capacity))
        empty = next((index for index, tube in enumerate(at) if not tube), None)
        joins = [(start, end) for start, end in ways if at[end]]
        for start, end in [*joins, *(way for way in ways if way[1] == empty)]:
            rest = search(pour(at, start, end))
            if rest is not None:
                return ((start, end), *rest)
        failed.add(name)
        return None

    return search(board)


def play(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """One click: on the tube to take from, or, with that one chosen, on the tube to pour into.

    With probability `skill` the first pour of a solution, else any legal pour (also where there is no solution).
    """
    board: Board = tuple(tuple(tube) for tube in state["tubes"])
    capacity, selected = state["capacity"], state["selected"]
    way = solve(board, capacity) if rng.random() < skill else None
    legal = list(legal_pours(board, capacity))
    start, end = way[0] if way else rng.choice([one for one in legal if one[0] == selected] or legal)
    chosen = selected == start
    tube = end if chosen else start
    thought = f"{board[start][-1]} from {start} to {end}, {'put' if chosen else 'take'} {tube}"
    return Move(thought, "click", {"point": cell_point(state, *state["places"][tube])})
