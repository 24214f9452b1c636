"""Players of one's own, who show how it is done: package.module:attribute, or an entry point of `tars_jax.players`.

A function (observation, rng, skill) -> Move, or a class: one object for each episode, made with its task, and called
so. It may be a coroutine function; a plain one runs in a thread. What a policy does not see, a player may: the
environment's state is in `observation.info`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import random
from collections.abc import AsyncIterator

from tars_jax import InputError
from tars_jax.agent.loop import PolicySession
from tars_jax.agent.prompts import PromptWriter
from tars_jax.environment import Observation, Task
from tars_jax.plugins import Plugins
from tars_jax.rollout.players import DemonstratorSession, Player, PrivilegedEnvironment, reference_player
from tars_jax.tasks.games.moves import Move

_PLUGINS = Plugins("player", "tars_jax.players")


def demonstrating_player(name: str, writer: PromptWriter, grammar: str, skill: float) -> Player:
    """The player of that name; without one, the reference players of the environments."""
    play = functools.partial(own_player, name) if name else reference_player
    return play(writer, grammar, skill)


def own_player(name: str, writer: PromptWriter, grammar: str, skill: float) -> Player:
    """The player of that name; `skill` is handed to it, the probability of a good move where it has any use for that.

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
