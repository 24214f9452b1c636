"""A reference player of Gem 11: it looks a few merges ahead and keeps large gems near their like."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Mapping
from typing import Any

from tars_jax.tasks.games.moves import Move, cell_point

Gems = tuple[int, ...]  # row by row, 0 where a place is empty (what falls in is not known)

DEPTH, LARGE, DEPTH_LARGE = 3, 6, 2  # merges ahead; on boards from six columns on it needs to look less far
WIDEST = 5  # merges that are looked at further
WORTH = tuple(3.0**gem for gem in range(32))  # pairs gain by merging, threes come out even
EQUAL, NEXT = 0.4, 0.15  # what two neighbours add: equal gems, gems that differ by one; times the worth of the lesser
GROUP = 2 + EQUAL  # what equal gems that touch are worth together, times one of them: however many, they become one gem
STUCK = -1e9  # nothing can be merged until new gems fall: a board that needs luck, to be left to the last


@functools.cache
def neighbours(side: int) -> tuple[tuple[int, ...], ...]:
    """The places beside each place."""
    steps = ((-1, 0), (1, 0), (0, -1), (0, 1))
    return tuple(
        tuple((row + dy) * side + column + dx for dx, dy in steps if 0 <= column + dx < side and 0 <= row + dy < side)
        for row in range(side)
        for column in range(side)
    )


def groups(gems: Gems, side: int) -> Iterator[list[int]]:
    """The places of every group of two or more equal gems that touch."""
    beside = neighbours(side)
    seen = set()
    for start, gem in enumerate(gems):
        if not gem or start in seen:
            continue
        group = [start]
        seen.add(start)
        for place in group:
            for other in beside[place]:
                if gems[other] == gem and other not in seen:
                    seen.add(other)
                    group.append(other)
        if len(group) > 1:
            yield group


def merge(gems: Gems, side: int, group: list[int], place: int) -> Gems:
    """The gems after a group merged at one of its places and everything fell; nothing falls in from above."""
    left = list(gems)
    for one in group:
        left[one] = 0
    left[place] = gems[place] + 1
    for column in {one % side for one in group}:
        standing = [left[one] for one in range(column, side * side, side) if left[one]]
        left[column::side] = [0] * (side - len(standing)) + standing
    return tuple(left)


def worth(gems: Gems, side: int) -> float:
    """The worth of a board: large gems, and neighbours that will merge.

    On a large board so many kinds fall that a game may be lost: there what is not yet merged is kept as a reserve.
    """
    total = 0.0
    for place, gem in enumerate(gems):
        if not gem:
            continue
        total += WORTH[gem]
        for other in (place + 1 if (place + 1) % side else -1, place + side):
            if 0 <= other < len(gems) and gems[other]:
                apart = abs(gem - gems[other])
                if apart == 1 or (apart == 0 and side >= LARGE):
                    total += (NEXT if apart else EQUAL) * WORTH[min(gem, gems[other])]
    if side >= LARGE:
        return total
    return total + sum((GROUP - len(group)) * WORTH[gems[group[0]]] for group in groups(gems, side))


def merges(gems: Gems, side: int) -> list[tuple[float, int, Gems]]:
    """Every merge as (worth, place, the gems after it), the best first."""
    after = [(place, merge(gems, side, group, place)) for group in groups(gems, side) for place in group]
    return sorted(((worth(board, side), place, board) for place, board in after), key=lambda one: -one[0])


def best_worth(gems: Gems, side: int, depth: int) -> float:
    """The worth after the best `depth` merges, on a board where nothing falls in from above."""
    found = merges(gems, side)
    if not found:
        return STUCK + worth(gems, side)
    if depth == 1:
        return found[0][0]
    return max(best_worth(board, side, depth - 1) for _, _, board in found[:WIDEST])


def play(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """One click. With probability `skill` the first of the best merges, else any gem that touches an equal one.

    The thought says the largest gem and the number to reach, how many gems of which number merge, and where.
    """
    side = state["size"]
    gems = tuple(gem for line in state["gems"] for gem in line)
    depth = DEPTH_LARGE if side >= LARGE else DEPTH
    found = merges(gems, side)
    if not found:
        raise ValueError("no equal gems touch: this game of Gem 11 is lost")
    if rng.random() < skill:
        _, place, _ = max(found[:WIDEST], key=lambda one: best_worth(one[2], side, depth - 1))
    else:
        _, place, _ = rng.choice(found)
    group = next(group for group in groups(gems, side) if place in group)
    column, row = place % side, place // side
    thought = f"{state['largest']} of {state['target']}, merge {len(group)} of {gems[place]} at {column} {row}"
    return Move(thought, "click", {"point": cell_point(state, column, row)})
