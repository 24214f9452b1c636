"""A reference player of Candy Crush: the swap that clears most at once, low on the board where several do."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.tasks.games.moves import Move, cell_point

Place = Sequence[int]  # row, column


def cleared(board: Sequence[Sequence[int]], one: Place, other: Place) -> int:
    """The number of candies in lines of three or more right after a swap."""
    tiles = [list(line) for line in board]
    (a, b), (c, d) = one, other
    tiles[a][b], tiles[c][d] = tiles[c][d], tiles[a][b]
    size = len(tiles)
    lined: set[tuple[int, int]] = set()
    for row in range(size):
        for column in range(size):
            for down, across in ((0, 1), (1, 0)):
                line = [(row + i * down, column + i * across) for i in range(3)]
                if line[-1][0] < size and line[-1][1] < size and len({tiles[r][c] for r, c in line}) == 1:
                    lined.update(line)
    return len(lined)


def play(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """One drag. With probability `skill` the best swap, else any that makes a match."""
    swaps = state["swaps"]
    if rng.random() < skill:
        one, other = max(swaps, key=lambda swap: (cleared(state["tiles"], *swap), swap[0][0]))
    else:
        one, other = rng.choice(swaps)
    thought = f"{state['moves_left']} left, {cleared(state['tiles'], one, other)} in line"
    start, end = cell_point(state, one[1], one[0]), cell_point(state, other[1], other[0])
    return Move(thought, "drag", {"start_point": start, "end_point": end})
