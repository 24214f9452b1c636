"""A player of a person's pace and errors: the reference player of a game, slowed down, and wrong at times.

The model, in steps, which is what budgets count (seconds of thought cost nothing, as time stands meanwhile):

- pace: the first step of a level goes by in looking at it, and so does each later one with probability `HESITATION`;
- judgment: a move is any legal one with probability `MISJUDGED`, as the reference player's `skill` has it;
- slips of the hand: with probability `SLIPPED` a click, or the end of a drag, lands a cell beside the place that was
  meant, in one of four directions, and a key is one of the other arrows.

It stands for a person where none has played (UI-TARS-2 normalizes to one, table 2). The three numbers are ours; nothing
was fitted to a person's games.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from typing import Any

from tars_jax.tasks.games.catalog import ReferencePlayer
from tars_jax.tasks.games.moves import Move

HESITATION, MISJUDGED, SLIPPED = 0.1, 0.1, 0.03
_ARROWS = ("up", "right", "down", "left")
_BESIDE = ((0, -1), (1, 0), (0, 1), (-1, 0))


class PersonPlayer:
    """Plays one episode; a `ReferencePlayer`, but for the level that it remembers having looked at."""

    def __init__(self, reference: ReferencePlayer) -> None:
        self._reference = reference
        self._looked_at: Any = None

    def __call__(self, state: Mapping[str, Any], rng: random.Random, skill: float = 1 - MISJUDGED) -> Move:
        level = state.get("level", 1)
        if level != self._looked_at or rng.random() < HESITATION:
            self._looked_at = level
            return Move("look", "wait", {"time": 1})
        move = self._reference(state, rng, skill)
        return _slipped(move, state, rng) if rng.random() < SLIPPED else move


def _slipped(move: Move, state: Mapping[str, Any], rng: random.Random) -> Move:
    if move.function == "hotkey":
        key = rng.choice([arrow for arrow in _ARROWS if arrow != move.parameters["key"]])
        return dataclasses.replace(move, parameters={"key": key})
    target = "end_point" if move.function == "drag" else "point"
    x, y = move.parameters[target]
    dx, dy = rng.choice(_BESIDE)
    cell, viewport = state["board"]["cell"], state["viewport"]
    beside = (x + round(1000 * dx * cell / viewport["width"]), y + round(1000 * dy * cell / viewport["height"]))
    return dataclasses.replace(
        move, parameters={**move.parameters, target: tuple(min(1000, max(0, place)) for place in beside)}
    )
