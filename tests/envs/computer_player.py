"""A task of a computer, played by its reference player or by calls that are given."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from tars_jax.agent.calls import action_from_call
from tars_jax.environment import Observation, Task, Transition
from tars_jax.envs.computer import ComputerEnvironment
from tars_jax.tasks.computer.catalog import reference_player

Call = tuple[str, dict[str, Any]]


async def play(
    name: str, calls: Sequence[Call] | None = None, level: int = 2, seed: int = 3, **options: Any
) -> tuple[Transition, Observation]:
    """The last turn, and what was seen then."""
    environment = ComputerEnvironment(task=name, level=level, **options)
    try:
        seen = await environment.reset(Task("one", "computer", seed, {}, 40))
        assert environment.instruction and seen.text and seen.info["wrong"], "it was done before it began"
        for number in range(environment.max_steps({"task": name, **options}) if calls is None else len(calls)):
            if calls is None:
                move = reference_player(seen.info["state"], random.Random(0))
                function, parameters = move.function, move.parameters
            else:
                function, parameters = calls[number]
            turn = await environment.step([action_from_call(function, parameters, space=environment.action_space)])
            seen = turn.observation
            if turn.terminated:
                break
        return turn, seen
    finally:
        await environment.close()
