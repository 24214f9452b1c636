"""Corridor: a sign at the start says which way to turn at the far end, which is reached when the sign is long gone.

Text alone, and nothing to start: the smallest task that needs memory. Whoever goes by the last steps turns the right
way one time in four; `tars_jax/envs/on_device/corridor.py` is the same in pixels, inside programs.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.environment import ActionSpace, Function, Observation, Task, Transition
from tars_jax.tasks.games.moves import Move

AHEAD = "up"
WAYS = (AHEAD, "right", "down", "left")
MOST = 100
_WAY = {"type": "object", "properties": {"way": {"type": "string", "enum": list(WAYS)}}, "required": ["way"]}


class CorridorEnvironment:
    """`shortest` to `longest` steps ahead lead from the sign to the end, where the first turn counts, for reward and
    success. Elsewhere any way but ahead leads nowhere, and takes a step all the same.

    Raises InputError for a corridor that there is not.
    """

    action_space = ActionSpace("tools", functions=(Function("go", "Goes a way.", _WAY),))
    instruction = "Turn at the end as the sign says."
    time_limit = 10.0

    def __init__(self, shortest: int = 5, longest: int = 7) -> None:
        check_options({"shortest": shortest, "longest": longest})
        self._shortest, self._longest = shortest, longest
        self._way, self._turned, self._left, self._gone = AHEAD, "", 0, 0

    @staticmethod
    def max_steps(options: Mapping[str, Any]) -> int:
        """Two more than the longest way takes, the turn included."""
        return int(options.get("longest", 7)) + 3

    @staticmethod
    def check_options(options: Mapping[str, Any]) -> None:
        check_options(options)

    @staticmethod
    def reference_player(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
        """Says the way where the sign stands and where it turns, and "on" between; mistakes are turns at the end."""
        if state["left"]:
            return Move("on" if state["gone"] else state["way"], "go", {"way": AHEAD})
        way = state["way"] if rng.random() < skill else rng.choice(WAYS)
        return Move(way, "go", {"way": way})

    async def reset(self, task: Task) -> Observation:
        level = random.Random(f"corridor {task.seed}")
        self._way, self._turned, self._gone = level.choice(WAYS), "", 0
        self._left = level.randint(self._shortest, self._longest)
        return self._seen()

    async def step(self, actions: Sequence[Any]) -> Transition:
        for action in actions:
            way = str(getattr(action, "parameters", {}).get("way"))
            if not self._left and not self._turned and way in WAYS:
                self._turned = way
            elif self._left and way == AHEAD:
                self._left, self._gone = self._left - 1, self._gone + 1
        right = self._turned == self._way
        return Transition(self._seen(), float(right), bool(self._turned), success=right)

    async def close(self) -> None:
        pass

    def _seen(self) -> Observation:
        if not self._left:
            text = "end"
        else:
            text = f"{self._left} ahead" if self._gone else f"sign: {self._way}"
        return Observation(text=text, info={"state": {"way": self._way, "left": self._left, "gone": self._gone}})


def check_options(options: Mapping[str, Any]) -> None:
    """Raises InputError for a corridor that there is not."""
    if unknown := options.keys() - {"shortest", "longest"}:
        raise InputError(f"corridor: an option must be shortest or longest; got {min(unknown)!r}")
    shortest, longest = options.get("shortest", 5), options.get("longest", 7)
    if not (type(shortest) is type(longest) is int and 1 <= shortest <= longest <= MOST):
        raise InputError(
            f"shortest and longest of a corridor must be 1 to {MOST}, shortest first; got {shortest!r} and {longest!r}"
        )
