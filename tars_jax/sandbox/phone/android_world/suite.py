"""Tasks as AndroidWorld's server offers them: by type, each with several instances."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from tars_jax.sandbox.phone.phone import Phone


@dataclasses.dataclass
class PreparedPhone:
    """What a task prepares and verifies."""

    phone: Phone
    answer: str = ""  # the text of the last `answer` action; AndroidWorld's interaction_cache


class PhoneTask(Protocol):
    """One instance of a task."""

    @property
    def goal(self) -> str:
        """What the agent is told."""
        ...

    @property
    def template(self) -> str:
        """The goal with the names of its parameters in it."""
        ...

    async def initialize_task(self, environment: PreparedPhone) -> None: ...

    async def tear_down(self, environment: PreparedPhone) -> None: ...

    async def is_successful(self, environment: PreparedPhone) -> float:
        """0..1, read from the phone's state. Raises SandboxFailure where that cannot be read: no score."""
        ...


Suite = Mapping[str, Sequence[PhoneTask]]
MakeSuite = Callable[[int, int], Suite]  # takes instances per type, and a seed
