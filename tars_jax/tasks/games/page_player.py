"""The reference player of a game that brings its own along, as `window.reference(state)` in its page.

The page's script adds what that returns to the game's state, as "reference": {"good": moves, "legal": moves}, each the
best first. A move is {"thought": ...} with one of {"click": cell}, {"drag": [cell, cell]}, {"key": direction}; a cell
is [column, row].
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.tasks.games.moves import Move, cell_point

DIRECTIONS = ("up", "right", "down", "left")


def play(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
    """With probability `skill` a good move if there is one, else any legal move.

    Raises `InputError` for a move that is none, and where there is no move at all.
    """
    match state["reference"]:
        case {"good": [*good], "legal": [*legal]}:
            pass
        case found:
            raise InputError(
                f"{state.get('game')}: its reference player must give good and legal moves; got {str(found)[:200]}"
            )
    moves = good if good and rng.random() < skill else legal
    if not moves:
        raise InputError(f"{state.get('game')}: its reference player knows no move")
    move = rng.choice(moves)
    try:
        match move:
            case {"thought": str(thought), "click": [column, row]}:
                return Move(thought, "click", {"point": cell_point(state, column, row)})
            case {"thought": str(thought), "drag": [[column, row], [to_column, to_row]]}:
                ends = {
                    "start_point": cell_point(state, column, row),
                    "end_point": cell_point(state, to_column, to_row),
                }
                return Move(thought, "drag", ends)
            case {"thought": str(thought), "key": str(key)} if key in DIRECTIONS:
                return Move(thought, "hotkey", {"key": key})
    except (ArithmeticError, LookupError, TypeError):  # what stands for a column or for the board is none
        pass
    raise InputError(
        f"{state.get('game')}: its reference player's move must be a thought and a click, a drag or a key; got {move!r}"
    )
