"""A reference player of Merge and Double: it tries both blocks that it sees in all columns and judges what is left."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from tars_jax.tasks.games.moves import Move, cell_point

# What a board loses for each block, for blocks that lie high, for each doubling that touching blocks lack to be alike,
# and for a larger block on a smaller one.
BLOCK, HIGH, BELOW, BESIDE, BURIED = 6.0, 0.5, 1.0, 0.5, 2.0
CROWDED = 14  # blocks of a board from which on a player also thinks of the block after those that it sees
LOST = -1000.0  # the worth of a board where no column is open

Columns = tuple[tuple[int, ...], ...]  # blocks of each column from the floor up


def drop(columns: Columns, column: int, block: int) -> Columns:
    """The columns after a block fell and everything merged."""
    stacks = [list(stack) for stack in columns]
    stacks[column].append(block)
    fallen = [(column, len(stacks[column]) - 1)]
    while fallen:
        at, row = fallen.pop(0)
        if row >= len(stacks[at]):
            continue
        stack, value = stacks[at], stacks[at][row]
        beside = [side for side in (at - 1, at + 1) if 0 <= side < len(stacks)]
        sides = [side for side in beside if stacks[side][row : row + 1] == [value]]
        above, below = stack[row + 1 : row + 2] == [value], row > 0 and stack[row - 1] == value
        times = len(sides) + above + below
        if not times:
            continue
        stack[row - below : row + 1 + above] = [value << times]
        for side in sides:
            del stacks[side][row]
        # what fell may touch its like: the new block, then what lies on it and beside it
        fallen = [(at, higher) for higher in range(row - below, len(stack))]
        fallen += [(side, higher) for side in sides for higher in range(row, len(stacks[side]))]
    return tuple(map(tuple, stacks))


def open_columns(columns: Columns, height: int, block: int) -> list[int]:
    """Columns in which a block may fall: a full column takes it only onto its like."""
    return [column for column, stack in enumerate(columns) if len(stack) < height or stack[-1] == block]


def worth(columns: Columns) -> float:
    """The worth of a board, at most 0: few low blocks, and neighbours that need few doublings to become alike."""
    lost = 0.0
    for stack, beside in zip(columns, (*columns[1:], ()), strict=True):
        lost += BLOCK * len(stack) + HIGH * len(stack) ** 2
        for row, value in enumerate(stack):
            size = value.bit_length()
            if row:
                lost += BELOW * abs(stack[row - 1].bit_length() - size) + BURIED * (stack[row - 1] < value)
            if row < len(beside):
                lost += BESIDE * abs(beside[row].bit_length() - size)
    return -lost


def best_column(columns: Columns, height: int, blocks: tuple[int, ...], target: int, most: int) -> tuple[float, int]:
    """(worth, column) of the best way to drop `blocks` one after the other; the first column among equals.

    The worth is infinite where a block reaches the target. On a crowded board the worth is the mean over all blocks, up
    to `most`, that may be given next.
    """
    tried = []
    for column in open_columns(columns, height, blocks[0]):
        after = drop(columns, column, blocks[0])
        if any(block >= target for stack in after for block in stack):
            return float("inf"), column
        if blocks[1:]:
            value, _ = best_column(after, height, blocks[1:], target, most)
        elif sum(map(len, after)) < CROWDED:
            value = worth(after)
        else:
            given = [1 << size for size in range(1, most.bit_length())]
            value = sum(best_worth(after, height, block) for block in given) / len(given)
        tried.append((value, column))
    return max(tried, key=lambda one: one[0], default=(LOST, -1))


def best_worth(columns: Columns, height: int, block: int) -> float:
    """The worth after the best drop of one block."""
    open_ones = open_columns(columns, height, block)
    return max((worth(drop(columns, column, block)) for column in open_ones), default=LOST)


def play(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """One click on a column. With probability `skill` the best one, else any that is open."""
    columns: Columns = tuple(map(tuple, state["columns"]))
    height, block = state["height"], state["block"]
    if rng.random() < skill:
        _, column = best_column(columns, height, (block, state["next"]), state["target"], state["most"])
    else:
        column = rng.choice(open_columns(columns, height, block))
    under = columns[column][-1] if columns[column] else "floor"
    point = cell_point(state, column, height / 2)
    return Move(f"{block} then {state['next']}, {block} on {under}, column {column}", "click", {"point": point})
