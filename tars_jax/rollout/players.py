"""Who plays: a policy behind an engine, or a scripted reference player. To the agent loop both are policy sessions."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import numpy as np

from tars_jax.agent import Response, action_from_call, format_response
from tars_jax.agent.loop import Environment, PolicySession, Transition
from tars_jax.agent.prompts import PromptWriter
from tars_jax.inference import Sampled
from tars_jax.tasks.library import load_playable
from tars_jax.tasks.task import Task


@dataclasses.dataclass
class Watched:
    """An environment whose last state a reference player may read; policies see screenshots only."""

    environment: Environment
    info: dict[str, Any]
    member: int = 0  # which episode of its group

    async def step(self, actions: Sequence[Any]) -> Transition:
        transition = await self.environment.step(actions)
        self.info = transition.frame.info
        return transition


class SeatLost(Exception):
    """What played an episode is gone, and the episode with it: a host, or the policy. It is played again."""


Player = Callable[[Watched, Task], AbstractAsyncContextManager[PolicySession]]


class Sessions(Protocol):
    """Where sessions of a policy come from: the engine in this process, or one that is reached."""

    def session(self, seed: int) -> AbstractAsyncContextManager[PolicySession]: ...


def engine_player(engine: Sessions, seed: int) -> Player:
    """Samples from the engine; the random stream depends on `seed`, the task and the member of its group alone."""

    def session(watched: Watched, task: Task) -> AbstractAsyncContextManager[PolicySession]:
        return engine.session(task.seed * 1_000_003 + seed + watched.member * 7_368_787)

    return session


def waiting_player(player: Player, away: type[Exception], pause: float) -> Player:
    """The same player with a policy that may be away, which its sessions say by raising `away`.

    The episode is then given back, to be played again, and its worker pauses for so many seconds.
    """

    @contextlib.asynccontextmanager
    async def session(watched: Watched, task: Task) -> AsyncIterator[PolicySession]:
        try:
            async with player(watched, task) as inner:
                yield inner
        except away as error:
            await asyncio.sleep(pause)
            raise SeatLost(f"the policy is away: {error}") from error

    return session


class _ReferenceSession:
    def __init__(self, watched: Watched, task: Task, writer: PromptWriter, grammar: str, skill: float) -> None:
        self._watched, self._writer, self._grammar, self._skill = watched, writer, grammar, skill
        self._play = load_playable(task.game).reference
        self._rng = random.Random(task.seed)

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Sampled:
        move = self._play(self._watched.info["state"], self._rng, self._skill)
        action = action_from_call(move.function, move.parameters)
        written = self._writer.response(format_response(Response(move.thought, (action,)), grammar=self._grammar))
        return Sampled(tuple(written), (0.0,) * len(written), (-1,) * len(written))


def reference_player(writer: PromptWriter, grammar: str, skill: float) -> Player:
    """A scripted player; with probability 1 - `skill` a move is any legal one."""

    @contextlib.asynccontextmanager
    async def session(watched: Watched, task: Task) -> AsyncIterator[PolicySession]:
        yield _ReferenceSession(watched, task, writer, grammar, skill)

    return session
