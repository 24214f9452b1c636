"""Environments with one fault each, which `try` has to find; the episode is a count of calls of `say`."""

from __future__ import annotations

import dataclasses
import itertools
import random
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from tars_jax.environment import ActionSpace, Function, Observation, Task, Transition, Verification

WORD = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
_made = itertools.count()


class Sound:
    """Three steps; the last one succeeds and earns 1."""

    instruction = "Say it three times."
    action_space = ActionSpace("tools", functions=(Function("say", "Says a word.", WORD),))
    max_steps = 5
    seconds = 0.0  # that close takes

    def __init__(self) -> None:
        self.number, self.said, self.seed, self.size = next(_made), 0, 0, 8

    def reset(self, task: Task) -> Observation:
        self.said, self.seed = 0, task.seed
        return self.seen()

    def step(self, actions: Sequence[Any]) -> Transition:
        self.said += 1
        over = self.said == 3
        return Transition(self.seen(), self.reward(over), over, success=self.success(over))

    def seen(self) -> Observation:
        return Observation(text=f"seed {self.seed}, said {self.said}")

    def reward(self, over: bool) -> float:
        return float(over)

    def success(self, over: bool) -> bool | None:
        return over

    def close(self) -> None:
        time.sleep(self.seconds)


class OtherByObject(Sound):
    """A new one begins otherwise."""

    def seen(self) -> Observation:
        return Observation(text=f"number {self.number}")


class LeakyStart(Sound):
    """What was said before shows in the next episode's beginning."""

    def reset(self, task: Task) -> Observation:
        self.seed = task.seed
        return self.seen()

    def step(self, actions: Sequence[Any]) -> Transition:
        return Transition(self._advanced(), 0.0, True, success=False)

    def _advanced(self) -> Observation:
        self.said += 1
        return self.seen()


class LeakyReward(Sound):
    """It begins the same, and the second episode earns something else."""

    def __init__(self) -> None:
        super().__init__()
        self.episodes = 0

    def reset(self, task: Task) -> Observation:
        self.episodes += 1
        return super().reset(task)

    def reward(self, over: bool) -> float:
        return float(self.episodes == 1 and over)


class OutOfReach(Sound):
    """475 is to be reached, and 16 steps earn 1 each."""

    max_steps = 16

    def step(self, actions: Sequence[Any]) -> Transition:
        self.said += 1
        return Transition(self.seen(), 1.0, self.said == 10, success=False)

    @staticmethod
    def verification(task: Task) -> Verification:
        return dataclasses.replace(task.verification, threshold=475.0)


class LongText(Sound):
    """The first observation has 300 words."""

    def seen(self) -> Observation:
        return Observation(text="word " * 300 if self.said == 0 else "short")


class LongAnswer(Sound):
    """The second one has."""

    def seen(self) -> Observation:
        return Observation(text=f"seed {self.seed} " + "word " * 300 * (self.said == 1))


class ChangingPicture(Sound):
    def seen(self) -> Observation:
        return Observation.from_pixels(np.zeros((8 + self.said, 8, 3), np.uint8))


class Infinite(Sound):
    def reward(self, over: bool) -> float:
        return float("inf") if over else 0.0


class Contrary(Sound):
    """Where the seed is odd after halving, it earns much and has failed."""

    def reward(self, over: bool) -> float:
        return float(self.seed // 2 % 2 + over)

    def success(self, over: bool) -> bool:
        return over and self.seed // 2 % 2 == 0


class Unguarded(Sound):
    """Fails on a word that its schema admits."""

    def step(self, actions: Sequence[Any]) -> Transition:
        actions[0].parameters["word"][0]
        return super().step(actions)


class Hanging(Sound):
    """`close` takes longer than it may."""

    time_limit = 0.2
    seconds = 1.0


class Mute(Sound):
    """Says nothing of success, never ends, and looks the same for every seed."""

    def seen(self) -> Observation:
        return Observation(text="?")

    def step(self, actions: Sequence[Any]) -> Transition:
        return Transition(self.seen())


class Coin(Sound):
    """Tosses a coin of its own, twenty times."""

    def step(self, actions: Sequence[Any]) -> Transition:
        transition = super().step(actions)
        return dataclasses.replace(transition, reward=float(random.getrandbits(20)))


class OutOfSteps(Sound):
    """Takes three steps, of which it has two."""

    max_steps = 2

    def step(self, actions: Sequence[Any]) -> Transition:
        transition = super().step(actions)
        return dataclasses.replace(transition, success=bool(transition.success))


class BadSchema(Sound):
    """What can be called is not to be described so."""

    action_space = ActionSpace("tools", functions=(Function("say", "Says.", {"type": "objekt"}),))


class Turning(Sound):
    """Its text has a mark that turns the direction of all behind it, and one that colors a terminal."""

    def reset(self, task: Task) -> Observation:
        super().reset(task)
        return Observation(text=f"seed\u202e {task.seed} \x1b[31m")
