"""Who plays: a policy, a scripted reference player, or chance. To the agent loop all of them are policy sessions."""

from __future__ import annotations

import contextlib
import dataclasses
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import numpy as np

from tars_jax.agent import Action, Click, Drag, Hotkey, Point, Response, action_from_call, format_response
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


def resized_player(player: Player, resize: Callable[[np.ndarray], np.ndarray]) -> Player:
    """The same player, which sees every screenshot as `resize` makes it."""

    @contextlib.asynccontextmanager
    async def session(watched: Watched, task: Task) -> AsyncIterator[PolicySession]:
        async with player(watched, task) as inner:
            yield _ResizedSession(inner, resize)

    return session


@dataclasses.dataclass(frozen=True)
class _ResizedSession:
    session: PolicySession
    resize: Callable[[np.ndarray], np.ndarray]

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Any:
        return await self.session.respond(tokens, [self.resize(image) for image in images], restart=restart)


class _ReferenceSession:
    def __init__(self, watched: Watched, task: Task, writer: PromptWriter, grammar: str, skill: float) -> None:
        self._watched, self._writer, self._grammar, self._skill = watched, writer, grammar, skill
        self._play = load_playable(task.game).reference
        self._rng = random.Random(task.seed)

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Sampled:
        move = self._play(self._watched.info["state"], self._rng, self._skill)
        action = action_from_call(move.function, move.parameters)
        return _written(self._writer, self._grammar, move.thought, action)


def reference_player(writer: PromptWriter, grammar: str, skill: float) -> Player:
    """A scripted player; with probability 1 - `skill` a move is any legal one."""

    @contextlib.asynccontextmanager
    async def session(watched: Watched, task: Task) -> AsyncIterator[PolicySession]:
        yield _ReferenceSession(watched, task, writer, grammar, skill)

    return session


class _RandomSession:
    def __init__(self, task: Task, writer: PromptWriter, grammar: str) -> None:
        self._writer, self._grammar, self._rng = writer, grammar, random.Random(task.seed)

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Sampled:
        rng = self._rng
        first, second = (Point(rng.randint(0, 1000), rng.randint(0, 1000)) for _ in range(2))
        kind = rng.choices(("click", "drag", "key"), (3, 1, 1))[0]
        action: Action
        match kind:
            case "click":
                action = Click(first)
            case "drag":
                action = Drag(first, second)
            case _:
                action = Hotkey((rng.choice(("up", "right", "down", "left")),))
        return _written(self._writer, self._grammar, "", action)


def random_player(writer: PromptWriter, grammar: str) -> Player:
    """Clicks, drags and arrow keys anywhere, three to one to one: what no skill at all earns."""

    @contextlib.asynccontextmanager
    async def session(watched: Watched, task: Task) -> AsyncIterator[PolicySession]:
        yield _RandomSession(task, writer, grammar)

    return session


def _written(writer: PromptWriter, grammar: str, thought: str, action: Action) -> Sampled:
    """An answer that nobody sampled, as a policy would have written it."""
    tokens = writer.response(format_response(Response(thought, (action,)), grammar=grammar))
    return Sampled(tuple(tokens), (0.0,) * len(tokens), (-1,) * len(tokens))
