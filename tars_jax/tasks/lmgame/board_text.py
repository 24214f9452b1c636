"""LMGame-Bench's harness as text, by ourselves: what is on the board, and what the last moves did.

The benchmark's own gives a model the board as text (perception) and the last ten turns with a reflection on each, which
a model writes (memory; `max_memory` of gamingagent/configs/*/config.yaml). Ours writes both down from the game's state,
and asks no model: nothing is reflected on. It stands beside the screenshot, not in its place. It shows what no policy
sees otherwise, so it is off unless somebody asks for it, and a score with it says so.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from typing import Any

MEMORY = 10  # moves
CANDIES = {0: ".", 1: "R", 2: "Y", 3: "G", 4: "B"}  # as they are painted
PIECES = "IOTSZJL"


class BoardText:
    """Text about the board of one episode."""

    def __init__(self) -> None:
        self._moves: collections.deque[str] = collections.deque(maxlen=MEMORY)

    def remember(self, move: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        """Remembers a move in words, and what it has done: `before` and `after` are what an environment's `info`
        holds."""
        gained = after["verdict"]["score"] - before["verdict"]["score"]
        changed = before["state"] != after["state"]
        effect = f"{gained:+g} points" if gained else "no points" if changed else "nothing changed"
        self._moves.append(f"{move}: {effect}")

    def text(self, info: Mapping[str, Any]) -> str:
        """Text about the board now, and the moves that led there."""
        board = perceived(info["state"])
        if not self._moves:
            return board
        return "\n".join([board, "Last moves, the oldest first:", *self._moves])


def perceived(state: Mapping[str, Any]) -> str:
    """The board of a game of LMGame-Bench as text, from its state."""
    match state["game"]:
        case "game_2048":
            return _board("Tiles, row by row, 0 where a place is empty:", state["tiles"], " ") + _score(state)
        case "candy_crush":
            rows = [[CANDIES[tile] for tile in line] for line in state["tiles"]]
            chosen = f"\nChosen: column {state['selected'][0]}, row {state['selected'][1]}" if state["selected"] else ""
            left = f"\nMoves left: {state['moves_left']}"
            return (
                _board("Candies, row by row, R red, Y yellow, G green, B blue:", rows) + chosen + left + _score(state)
            )
        case "sokoban":
            signs = "Room, # wall, ? target, $ box, * box on a target, @ worker, + worker on a target:"
            return "\n".join([f"Level {state['level']} of {state['levels']}", signs, *state["room"]]) + _score(state)
        case "tetris":
            piece = state["piece"]
            well = [["." if place == 0 else PIECES[place - 1] for place in line] for line in state["well"]]
            falling = "\n".join("".join("X" if filled else "." for filled in line) for line in piece["shape"])
            coming = ", ".join(PIECES[kind] for kind in state["queue"])
            return (
                f"{_board('Well, row by row:', well)}\nFalling {PIECES[piece['kind']]}, its upper left at column "
                f"{piece['x']}, row {piece['y']}:\n{falling}\nNext: {coming}{_score(state)}"
            )
    raise ValueError(f"there is no text of the board of {state['game']!r}")


def _board(words: str, rows: Sequence[Sequence[Any]], between: str = "") -> str:
    return "\n".join([words, *(between.join(map(str, line)) for line in rows)])


def _score(state: Mapping[str, Any]) -> str:
    return f"\nScore: {state['score']}"
