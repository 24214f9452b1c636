"""A screen with a field for a password: what is typed is on the screen, in the text and in the state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tars_jax.agent.actions import Type
from tars_jax.environment import ActionSpace, EnvironmentFailure, Observation, Task, Transition


class Login:
    """Solved once the password is in. `broken_at`: the step, of all it has made, that fails once."""

    action_space = ActionSpace("browser", ("click", "type", "wait", "call_user", "finished"))
    instruction = "Log in."
    max_steps = 12
    ends = False  # once the password is in
    fails: ClassVar[list[int]] = []  # steps of the next environments that fail, the last first

    def __init__(self) -> None:
        self._typed, self._steps = "", 0

    async def reset(self, task: Task) -> Observation:
        self._typed, self._steps = "", 0
        return self._seen()

    async def step(self, actions: Sequence[Any]) -> Transition:
        self._steps += 1
        if Login.fails and Login.fails[-1] == self._steps:
            Login.fails.pop()
            raise EnvironmentFailure("browser", "the browser is gone")
        for action in actions:
            if isinstance(action, Type):
                self._typed += action.content
        done = self._typed == "hunter22Xyzzy9"
        return Transition(self._seen(), float(done), done and self.ends, success=done)

    async def close(self) -> None:
        pass

    def _seen(self) -> Observation:
        pixels = np.full((20, 30, 3), (7 * len(self._typed) + self._steps) % 256, np.uint8)
        text = f"field: {self._typed}" if self._typed else "an empty field"
        return Observation.from_pixels(pixels, text, {"state": {"field": self._typed, "of": [self._typed]}})


class Once(Login):
    """It is over once the password is in."""

    ends = True
