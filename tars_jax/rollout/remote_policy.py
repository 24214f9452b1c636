"""Players with a remote policy: what becomes of an episode when the policy is away, or declines a turn.

away for a while                      the episode is given back and played again (`EpisodeRunnerLost`)
away for `patience` seconds           the run ends, and can be resumed (`GaveUp`)
fails at one episode, not at others   after MOST_LOST times the episode has FAILED
declines a turn                       the episode ends there; with no turn before it, it has FAILED (`TurnDeclined`)
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import logging
import math
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import numpy as np

from tars_jax import GaveUp
from tars_jax.agent.loop import PolicySession, TurnDeclined, ask_to_remember
from tars_jax.environment import Task
from tars_jax.inference.policy_client import Declined
from tars_jax.rollout.players import EpisodeRunnerLost, Player, PrivilegedEnvironment

SAY_SECONDS = 60.0
MOST_LOST = 16  # times that one episode, begun by a policy that is there, is given back
log = logging.getLogger(__name__)


def waiting_player(player: Player, away: type[Exception], pause: float, patience: float) -> Player:
    """The same player with a policy that may be away, which its sessions say by raising `away`.

    The episode is then given back, to be played again, and its worker pauses for so many seconds. Once a minute the log
    says what is waited for. Raises GaveUp where no session has had an answer for `patience` seconds, counted from the
    first failure; TurnDeclined for an episode whose request fails again and again while the policy answers others.
    """
    said, since = -math.inf, math.inf  # when the log last said it; the first failure after the last answer
    lost: collections.Counter[Any] = collections.Counter()

    @contextlib.asynccontextmanager
    async def session(privileged: PrivilegedEnvironment, task: Task) -> AsyncIterator[PolicySession]:
        nonlocal said, since
        episode, begun = (task.environment, task.id, privileged.member), False

        def answered() -> None:
            nonlocal begun, since
            begun, since = True, math.inf

        try:
            async with player(privileged, task) as inner:
                yield _HeardSession(inner, answered)
        except away as error:
            now = time.monotonic()
            since = min(since, now)
            if now - since >= patience:
                raise GaveUp(f"The policy has been away for {now - since:.0f} seconds: {error}.") from error
            lost[episode] += begun
            if lost[episode] >= MOST_LOST:
                raise TurnDeclined(f"the policy failed at this episode {MOST_LOST} times: {error}") from error
            if now - said >= SAY_SECONDS:
                said = now
                log.warning(
                    "the policy is away, and episodes wait for it, %.0f seconds at most: %s",
                    patience - (now - since),
                    error,
                )
            await asyncio.sleep(min(pause, patience))
            raise EpisodeRunnerLost(f"the policy is away: {error}") from error
        lost.pop(episode, None)

    return session


def declining_player(player: Player) -> Player:
    """The same player, whose policy may take no further turn of an episode."""

    @contextlib.asynccontextmanager
    async def session(privileged: PrivilegedEnvironment, task: Task) -> AsyncIterator[PolicySession]:
        async with player(privileged, task) as inner:
            yield _DecliningSession(inner)

    return session


@dataclasses.dataclass(frozen=True)
class _HeardSession:
    session: PolicySession
    answered: Callable[[], None]

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Any:
        sampled = await self.session.respond(tokens, images, restart=restart)
        self.answered()
        return sampled

    async def remember(self, tokens: Sequence[int], most: int, usual: str) -> Any:
        sampled = await ask_to_remember(self.session, tokens, most, usual)
        self.answered()
        return sampled


@dataclasses.dataclass(frozen=True)
class _DecliningSession:
    session: PolicySession

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Any:
        try:
            return await self.session.respond(tokens, images, restart=restart)
        except Declined as error:
            raise TurnDeclined(f"{error.reason}: {error}") from error

    async def remember(self, tokens: Sequence[int], most: int, usual: str) -> Any:
        try:
            return await ask_to_remember(self.session, tokens, most, usual)
        except Declined as error:
            raise TurnDeclined(f"{error.reason}: {error}") from error
