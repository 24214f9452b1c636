"""Times of turns of the agent loop: the policy's tokens per second, and the length of a round, end to end."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

import numpy as np

from tars_jax.agent.loop import PolicySession, ask_to_remember
from tars_jax.environment import Task
from tars_jax.rollout.players import Player, PrivilegedEnvironment


@dataclasses.dataclass
class TurnTimes:
    """Times of all rounds that ended. A round begins when the policy is asked, and ends when it is asked again or the
    episode is over: the answer, and what the environment makes of it."""

    rounds: int = 0
    tokens: int = 0  # that the policy wrote
    thinking: float = 0.0  # seconds that the policy was waited for, reading what it was shown included
    seconds: float = 0.0  # of whole rounds

    @property
    def tokens_per_second(self) -> float:
        """Tokens per second of one episode, while its policy is asked."""
        return self.tokens / self.thinking if self.thinking else 0.0

    @property
    def seconds_per_round(self) -> float:
        return self.seconds / self.rounds if self.rounds else 0.0

    def plus(self, other: TurnTimes) -> TurnTimes:
        ours, theirs = dataclasses.astuple(self), dataclasses.astuple(other)
        return TurnTimes(*(one + more for one, more in zip(ours, theirs, strict=True)))

    def to_json(self) -> dict[str, float]:
        derived = {"tokens_per_second": self.tokens_per_second, "seconds_per_round": self.seconds_per_round}
        return {**dataclasses.asdict(self), **derived}


def timed_player(player: Player, times: TurnTimes) -> Player:
    """The same player, whose rounds are counted in `times`."""

    @contextlib.asynccontextmanager
    async def session(privileged: PrivilegedEnvironment, task: Task) -> AsyncIterator[PolicySession]:
        async with player(privileged, task) as inner:
            timed = _TimedSession(inner, times)
            try:
                yield timed
            finally:
                timed.round_over()

    return session


class _TimedSession:
    def __init__(self, session: PolicySession, times: TurnTimes) -> None:
        self._session, self._times = session, times
        self._asked_at: float | None = None  # in the round that goes on, once it has an answer

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Any:
        self.round_over()
        began = time.perf_counter()
        sampled = await self._session.respond(tokens, images, restart=restart)
        self._times.thinking += time.perf_counter() - began
        self._times.tokens += len(sampled.tokens)
        self._asked_at = began
        return sampled

    async def remember(self, tokens: Sequence[int], most: int, usual: str) -> Any:
        """In the round of the answer before."""
        began = time.perf_counter()
        sampled = await ask_to_remember(self._session, tokens, most, usual)
        self._times.thinking += time.perf_counter() - began
        self._times.tokens += len(sampled.tokens)
        return sampled

    def round_over(self) -> None:
        if self._asked_at is not None:
            self._times.seconds += time.perf_counter() - self._asked_at
            self._times.rounds += 1
            self._asked_at = None
