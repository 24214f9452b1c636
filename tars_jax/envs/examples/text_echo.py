"""An environment without any picture: the text names a word, and the answer is that word, some times over."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.environment import ActionSpace, Function, Observation, Task, Transition
from tars_jax.tasks.games.moves import Move

WORDS = ("red", "green", "blue")


class TextEcho:
    """Every right answer earns 1; all of them right is success. By chance that is 1 in 9."""

    max_steps = 4
    time_limit = 10.0

    def __init__(self, rounds: int = 2, typed: bool = False) -> None:
        """`typed`: the answer is typed text, or what `finished` says, instead of a function's argument."""
        if not 1 <= rounds <= 4:
            raise InputError(f"rounds must be 1 to 4; got {rounds!r}")
        self._rounds, self._typed = rounds, typed
        self._words: list[str] = []
        self._right: list[bool] = []

    @property
    def action_space(self) -> ActionSpace:
        if self._typed:
            return ActionSpace("tools", actions=("type", "finished"))
        word = {"type": "object", "properties": {"word": {"type": "string", "enum": list(WORDS)}}, "required": ["word"]}
        return ActionSpace("tools", functions=(Function("say", "Says a word.", word),))

    @property
    def instruction(self) -> str:
        return "Say the word."

    @staticmethod
    def reference_player(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
        return Move("", "say", {"word": state["word"] if rng.random() < skill else rng.choice(WORDS)})

    async def reset(self, task: Task) -> Observation:
        generator = random.Random(task.seed)
        self._words = [generator.choice(WORDS) for _ in range(self._rounds)]
        self._right = []
        return self._shown()

    async def step(self, actions: Sequence[Any]) -> Transition:
        earned = 0.0
        for action in actions:
            if len(self._right) < self._rounds:
                right = _answer(action) == self._words[len(self._right)]
                self._right.append(right)
                earned += right
        over = len(self._right) == self._rounds
        return Transition(self._shown(), earned, over, success=over and all(self._right))

    async def close(self) -> None:
        pass

    def _shown(self) -> Observation:
        if len(self._right) == self._rounds:
            return Observation(text="over", info={"state": {"word": ""}})
        word = self._words[len(self._right)]
        return Observation(text=f"word: {word}", info={"state": {"word": word}})


def _answer(action: Any) -> str:
    if getattr(action, "name", "") == "say":
        return str(action.parameters.get("word"))
    return str(getattr(action, "content", "")).strip()
