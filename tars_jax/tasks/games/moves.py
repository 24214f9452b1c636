"""Moves of reference players, and places of board cells on the 0..1000 grid."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Move:
    """One move of a reference player: what it sees and does in words, and the call that does it."""

    thought: str
    function: str  # the name of an agent action, for example "click" or "hotkey"
    parameters: dict[str, Any]  # its parameters; points are (x, y) on the 0..1000 grid


def cell_point(state: Mapping[str, Any], column: float, row: float) -> tuple[int, int]:
    """The centre of a board cell on the 0..1000 grid, from the geometry that `game.state()` reports in pixels."""
    board, viewport = state["board"], state["viewport"]
    x = board["x"] + (column + 0.5) * board["cell"]
    y = board["y"] + (row + 0.5) * board["cell"]
    return round(1000 * x / viewport["width"]), round(1000 * y / viewport["height"])
