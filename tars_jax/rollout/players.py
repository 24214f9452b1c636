"""Players: a policy, a scripted reference player, or chance. To the agent loop all of them are policy sessions."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import inspect
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import numpy as np

from tars_jax import InputError
from tars_jax.agent import Response, action_from_call, format_response
from tars_jax.agent.loop import BegunEpisode, Concludes, PolicySession, ask_to_remember
from tars_jax.agent.prompts import PromptWriter
from tars_jax.agent.random_player import random_action
from tars_jax.environment import ActionSpace, Observation, Task, Transition
from tars_jax.envs.registry import load_environment
from tars_jax.inference.sampling import Sampled
from tars_jax.plugins import Plugins
from tars_jax.tasks.games.catalog import ReferencePlayer
from tars_jax.tasks.games.moves import Move
from tars_jax.tasks.games.person import MISJUDGED, PersonPlayer


@dataclasses.dataclass
class PrivilegedEnvironment:
    """An environment whose last state a reference player may read; policies see screenshots only."""

    environment: BegunEpisode
    observation: Observation  # the last one
    space: ActionSpace
    member: int = 0  # which episode of its group

    async def step(self, actions: Sequence[Any]) -> Transition:
        transition = await self.environment.step(actions)
        self.observation = transition.observation
        return transition

    async def conclude(self) -> Transition | None:
        return await self.environment.conclude() if isinstance(self.environment, Concludes) else None


class EpisodeRunnerLost(Exception):
    """An episode was lost with the host or the policy that played it. It is played again."""


Player = Callable[[PrivilegedEnvironment, Task], AbstractAsyncContextManager[PolicySession]]


class SessionSource(Protocol):
    """Source of a policy's sessions: the engine in this process, or a remote one."""

    def session(self, seed: int) -> AbstractAsyncContextManager[PolicySession]: ...


def engine_player(engine: SessionSource, seed: int) -> Player:
    """A player that samples from the engine; the random stream depends on `seed`, the task and the member of its group
    alone."""

    def session(privileged: PrivilegedEnvironment, task: Task) -> AbstractAsyncContextManager[PolicySession]:
        return engine.session(task.seed * 1_000_003 + seed + privileged.member * 7_368_787)

    return session


def resized_player(player: Player, resize: Callable[[np.ndarray], np.ndarray]) -> Player:
    """The same player, which sees every screenshot as `resize` makes it."""

    @contextlib.asynccontextmanager
    async def session(privileged: PrivilegedEnvironment, task: Task) -> AsyncIterator[PolicySession]:
        async with player(privileged, task) as inner:
            yield _ResizedSession(inner, resize)

    return session


@dataclasses.dataclass(frozen=True)
class _ResizedSession:
    session: PolicySession
    resize: Callable[[np.ndarray], np.ndarray]

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Any:
        return await self.session.respond(tokens, [self.resize(image) for image in images], restart=restart)

    async def remember(self, tokens: Sequence[int], most: int, usual: str) -> Any:
        return await ask_to_remember(self.session, tokens, most, usual)


class Demonstrator(Protocol):
    """Says what to do next in an episode; `skill` is the probability of a good move."""

    def __call__(self, observation: Observation, rng: random.Random, skill: float) -> Move | Awaitable[Move]: ...


class DemonstratorSession:
    """A demonstrator's actions, written as a policy would have written them."""

    def __init__(
        self,
        demonstrator: Demonstrator,
        privileged: PrivilegedEnvironment,
        task: Task,
        writer: PromptWriter,
        grammar: str,
        skill: float,
    ) -> None:
        self._demonstrator, self._privileged, self._skill = demonstrator, privileged, skill
        self._writer, self._grammar = writer, grammar
        self._rng = _draws(task)

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Sampled:
        said = self._demonstrator(self._privileged.observation, self._rng, self._skill)
        move = await said if inspect.isawaitable(said) else said
        action = action_from_call(move.function, move.parameters, space=self._privileged.space)
        return _written(self._writer, format_response(Response(move.thought, (action,)), grammar=self._grammar))

    async def remember(self, tokens: Sequence[int], most: int, usual: str) -> Sampled:
        return _written(self._writer, self._writer.cut(usual, most - 1))


def reference_player(writer: PromptWriter, grammar: str, skill: float) -> Player:
    """The scripted player of each task's environment; with probability 1 - `skill` a move is any legal one."""
    return _scripted_player(writer, grammar, skill, lambda reference: reference)


def person_player(writer: PromptWriter, grammar: str) -> Player:
    """The scripted player of each task's game at a person's pace, with a person's errors (tasks/games/person.py)."""
    return _scripted_player(writer, grammar, 1 - MISJUDGED, PersonPlayer)


def _scripted_player(
    writer: PromptWriter, grammar: str, skill: float, plays_as: Callable[[ReferencePlayer], ReferencePlayer]
) -> Player:
    @contextlib.asynccontextmanager
    async def session(privileged: PrivilegedEnvironment, task: Task) -> AsyncIterator[PolicySession]:
        spec = load_environment(task.environment, task.options)
        if spec.reference is None:
            raise InputError(f"{spec.name} must have a reference player to be shown how; got none")
        player = plays_as(spec.reference)

        def play(observation: Observation, rng: random.Random, skill: float) -> Move:
            return player(observation.info["state"], rng, skill)

        yield DemonstratorSession(play, privileged, task, writer, grammar, skill)

    return session


class _RandomSession:
    def __init__(self, space: ActionSpace, task: Task, writer: PromptWriter, grammar: str) -> None:
        self._space, self._writer, self._grammar, self._rng = space, writer, grammar, _draws(task)

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Sampled:
        action = random_action(self._space, self._rng)
        return _written(self._writer, format_response(Response("", (action,)), grammar=self._grammar))

    async def remember(self, tokens: Sequence[int], most: int, usual: str) -> Sampled:
        return _written(self._writer, self._writer.cut(usual, most - 1))


def random_player(writer: PromptWriter, grammar: str) -> Player:
    """Player of random actions, the baseline without skill."""

    @contextlib.asynccontextmanager
    async def session(privileged: PrivilegedEnvironment, task: Task) -> AsyncIterator[PolicySession]:
        yield _RandomSession(privileged.space, task, writer, grammar)

    return session


def _draws(task: Task) -> random.Random:
    """Not `Random(task.seed)`, of which an environment may make its task: mistakes must not follow from that."""
    return random.Random(f"player {task.seed}")


def _written(writer: PromptWriter, text: str) -> Sampled:
    """Encodes a text that nobody sampled, as a policy would have written it."""
    tokens = writer.response(text)
    return Sampled(tuple(tokens), (0.0,) * len(tokens), (-1,) * len(tokens))


_PLUGINS = Plugins("player", "tars_jax.players")


def demonstrating_player(name: str, writer: PromptWriter, grammar: str, skill: float) -> Player:
    """The player of that name; without one, the reference players of the environments."""
    play = functools.partial(own_player, name) if name else reference_player
    return play(writer, grammar, skill)


def own_player(name: str, writer: PromptWriter, grammar: str, skill: float) -> Player:
    """A user's own player, who shows how it is done: package.module:attribute, or an entry point of `tars_jax.players`.

    A function (observation, rng, skill) -> Move, or a class: one object for each episode, made with its task, and
    called so. It may be a coroutine function; a plain one runs in a thread. What a policy does not see, a player may:
    the environment's state is in `observation.info`. `skill` is the probability of a good move, where it has any use
    for that.

    Raises InputError where there is none; its sessions, for what is no Move, and for a call that is not to be had.
    """
    made_by = _PLUGINS.load(name)
    if not callable(made_by):
        raise InputError(
            f"player {name!r} must be a function or a class; got an object of type {type(made_by).__name__}"
        )

    @contextlib.asynccontextmanager
    async def session(privileged: PrivilegedEnvironment, task: Task) -> AsyncIterator[PolicySession]:
        function = made_by(task) if isinstance(made_by, type) else made_by

        async def play(observation: Observation, rng: random.Random, skill: float) -> Move:
            said = await asyncio.to_thread(function, observation, rng, skill)
            move = await said if inspect.isawaitable(said) else said
            if not isinstance(move, Move):
                raise InputError(f"player {name} must return a Move; got {type(move).__name__}")
            return move

        yield DemonstratorSession(play, privileged, task, writer, grammar, skill)

    return session
