"""Secrets that were typed, known to this process alone, so that they can be taken out of what comes after."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from tars_jax.environment import Observation, Transition

LEAST = 3  # characters; what is shorter stands in every text
HIDDEN = "•••"


class Secrets:
    """Secrets, which are never written anywhere and are gone with the process."""

    def __init__(self) -> None:
        self._typed: set[str] = set()
        self._running = ""

    def typed(self, text: str) -> None:
        """Adds a piece of what is being typed."""
        self._running += text
        for each in (text, *text.splitlines(), self._running, *self._running.splitlines()):
            if len(each.strip()) >= LEAST:
                self._typed.add(each.strip())

    def over(self) -> None:
        self._running = ""

    def without(self, observation: Observation) -> Observation:
        """The observation without them in its text and in what an environment says of its own state."""
        if not self._typed:
            return observation
        return dataclasses.replace(
            observation, text=self._hidden(observation.text), info=self._hidden(observation.info)
        )

    def out_of(self, transition: Transition) -> Transition:
        if not self._typed:
            return transition
        return dataclasses.replace(
            transition, observation=self.without(transition.observation), info=self._hidden(transition.info)
        )

    def cleaned(self, text: str) -> str:
        return str(self._hidden(text))

    def _hidden(self, value: Any) -> Any:
        match value:
            case str():
                for typed in sorted(self._typed, key=len, reverse=True):
                    value = value.replace(typed, HIDDEN)
                return value
            case Mapping():
                return {self._hidden(name): self._hidden(each) for name, each in value.items()}
            case list() | tuple():
                return type(value)(self._hidden(each) for each in value)
        return value
