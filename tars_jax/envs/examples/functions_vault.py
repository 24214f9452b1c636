"""An environment of functions: notes that can be read, doors that can be opened, a text and a small picture."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tars_jax.environment import ActionSpace, Function, Observation, Task, Transition
from tars_jax.tasks.games.moves import Move

DOORS = {"red": (220, 40, 40), "green": (40, 180, 60), "blue": (50, 80, 230)}
NOTES = 2
SIDE = 48  # pixels
_GRAY = (70, 70, 70)


class Vault:
    """One note says which door holds the treasure; the observation says which note that is.

    Reading it earns 0.2, once; opening the right door 1, and is success; a wrong door ends the episode. Who opens a
    door at random succeeds once in three times.
    """

    max_steps = 3

    def __init__(self) -> None:
        self._door, self._note, self._text = "", 0, ""
        self._read = self._over = self._success = False

    @property
    def action_space(self) -> ActionSpace:
        door = {"type": "object", "properties": {"door": {"type": "string", "enum": list(DOORS)}}, "required": ["door"]}
        index = {"type": "integer", "minimum": 1, "maximum": NOTES}
        note = {"type": "object", "properties": {"index": index}, "required": ["index"]}
        return ActionSpace(
            "tools", functions=(Function("open", "Opens a door.", door), Function("read", "Reads a note.", note))
        )

    @property
    def instruction(self) -> str:
        return "Find the treasure."

    def reset(self, task: Task) -> Observation:
        generator = random.Random(task.seed)
        self._door, self._note = generator.choice(list(DOORS)), generator.randint(1, NOTES)
        self._read = self._over = self._success = False
        self._text = f"note {self._note}"
        return self._shown()

    def step(self, actions: Sequence[Any]) -> Transition:
        reward = 0.0
        for action in actions:
            if self._over:
                break
            reward += self._act(action)
        return Transition(self._shown(), reward, self._over, success=self._success)

    def close(self) -> None:
        pass

    @staticmethod
    def reference_player(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
        if rng.random() >= skill:
            return Move("", "open", {"door": rng.choice(list(DOORS))})
        if state["read"]:
            return Move("", "open", {"door": state["door"]})
        return Move("", "read", {"index": state["note"]})

    def _act(self, action: Any) -> float:
        match getattr(action, "name", ""):
            case "open":
                door = str(action.parameters.get("door"))
                self._over, self._success = True, door == self._door
                self._text = "treasure" if self._success else "empty"
                return float(self._success)
            case "read" if str(action.parameters.get("index")) == str(self._note):
                first, self._read = not self._read, True
                self._text = f"door {self._door}"
                return 0.2 if first else 0.0
            case "read":
                self._text = f"nothing; note {self._note}"
            case name:
                self._text = f"there is no {name or 'such action'}"
        return 0.0

    def _shown(self) -> Observation:
        """Three doors; once the note is read, the others are gray."""
        pixels = np.zeros((SIDE, SIDE, 3), np.uint8)
        width = SIDE // len(DOORS)
        for place, (name, color) in enumerate(DOORS.items()):
            shown = color if not self._read or name == self._door else _GRAY
            pixels[8:, place * width + 2 : (place + 1) * width - 2] = shown
        state = {"door": self._door, "note": self._note, "read": self._read}
        return Observation.from_pixels(pixels, self._text, {"state": state})
