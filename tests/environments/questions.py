"""Questions whose answer a judge compares with a reference: the environment itself says nothing of success."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.environment import ActionSpace, Observation, Task, Transition, Verification
from tars_jax.tasks.games.moves import Move

CAPITALS = {"France": "Paris", "Japan": "Tokyo"}


def country(task: Task) -> str:
    return list(CAPITALS)[task.seed % 2]


class Capitals:
    action_space = ActionSpace("tools", actions=("finished",))
    instruction = "Which capital?"
    max_steps = 2

    @staticmethod
    def verification(task: Task) -> Verification:
        return Verification("judge", CAPITALS[country(task)])

    @staticmethod
    def reference_player(state: Mapping[str, Any], rng: random.Random, skill: float = 1.0) -> Move:
        name = state["country"] if rng.random() < skill else "Japan"
        return Move("", "finished", {"content": f"the {CAPITALS[name].upper()}."})

    def reset(self, task: Task) -> Observation:
        self._country = country(task)
        return self._shown()

    def step(self, actions: Sequence[Any]) -> Transition:
        return Transition(self._shown(), 0.25)

    def close(self) -> None:
        pass

    def _shown(self) -> Observation:
        return Observation(text=self._country, info={"state": {"country": self._country}})
