"""An environment without any picture whose answer takes many examples to learn: which of the letters comes first."""

from __future__ import annotations

import random
import string
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.environment import ActionSpace, Function, Observation, Task, Transition
from tars_jax.tasks.games.moves import Move


class Alphabet:
    """One answer: the earliest of the letters shown. By chance that is 1 in `shown`.

    Of 20 letters, 4 at a time are shown in 116,280 ways: what is held out has hardly ever been trained on.
    """

    max_steps = 1
    time_limit = 10.0

    def __init__(self, letters: int = 20, shown: int = 4) -> None:
        if not 2 <= shown <= letters <= 26:
            raise InputError(f"letters and shown must be 2 <= shown <= letters <= 26; got {letters!r} and {shown!r}")
        self._known, self._count = string.ascii_lowercase[:letters], shown
        self._letters: list[str] = []

    @property
    def action_space(self) -> ActionSpace:
        letter = {"type": "object", "properties": {"letter": {"type": "string", "enum": list(self._known)}}}
        return ActionSpace("tools", functions=(Function("say", "Says a letter.", letter | {"required": ["letter"]}),))

    @property
    def instruction(self) -> str:
        return "First?"

    @staticmethod
    def reference_player(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
        letters = state["letters"]
        return Move("", "say", {"letter": min(letters) if rng.random() < skill else rng.choice(letters)})

    async def reset(self, task: Task) -> Observation:
        self._letters = random.Random(task.seed).sample(self._known, self._count)
        return self._shown()

    async def step(self, actions: Sequence[Any]) -> Transition:
        said = [str(action.parameters.get("letter")) for action in actions if getattr(action, "name", "") == "say"]
        right = said[:1] == [min(self._letters)]
        return Transition(self._shown(), float(right), True, success=right)

    async def close(self) -> None:
        pass

    def _shown(self) -> Observation:
        return Observation(text="|".join(self._letters), info={"state": {"letters": self._letters}})
