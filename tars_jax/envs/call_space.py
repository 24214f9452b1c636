"""The calls of an action space as a gymnasium space of texts: `Action: say(word='red')`."""

from __future__ import annotations

import random
from typing import Any

from tars_jax.agent import Response, format_response
from tars_jax.agent.chance import random_action
from tars_jax.environment import ActionSpace
from tars_jax.envs.text_space import AnyText


class CallSpace(AnyText):
    """Responses in the text grammar. Every text is one, as a policy may write anything; samples can be read."""

    def __init__(self, calls: ActionSpace, seed: int | None = None) -> None:
        super().__init__(seed)
        self.calls = calls

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A call with arguments, drawn at random."""
        rng = random.Random(int(self.np_random.integers(2**32)))
        return format_response(Response("", (random_action(self.calls, rng),)), grammar="text")
