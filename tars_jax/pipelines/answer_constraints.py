"""A policy that was trained to sample well-formed answers alone is that policy under its constraint, wherever it plays.

In training (`agent.constrained`) no other token was ever sampled or learned from, so what the weights say of the others
means nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tars_jax.agent.loop import PolicySession, ask_to_remember
from tars_jax.agent.pattern import response_pattern
from tars_jax.environment import ActionSpace, Task
from tars_jax.inference.constraint import Spelling, constraint_name, extend_constraints, unconstrained
from tars_jax.inference.engine import Engine
from tars_jax.inference.sampling import Sampling
from tars_jax.model.tokenizer import Tokenizer
from tars_jax.rollout.players import Player, PrivilegedEnvironment

Keep = Callable[[str, str], Awaitable[object]]  # a name and its pattern, for who samples


def constrained_player(player: Player, agent: Mapping[str, Any], keep: Keep, sampling: Sampling) -> Player:
    """A player whose answers are calls of the episode's environment and nothing else, as the section `agent` of its run
    has it."""

    @contextlib.asynccontextmanager
    async def session(watched: PrivilegedEnvironment, task: Task) -> AsyncIterator[PolicySession]:
        pattern = pattern_of(agent, watched.space)
        name = constraint_name(pattern)
        await keep(name, pattern)
        async with player(watched, task) as inner:
            yield _ConstrainedSession(inner, dataclasses.replace(sampling, constraint=name))

    return session


def pattern_of(agent: Mapping[str, Any], space: ActionSpace) -> str:
    """Pattern to which a section `agent` constrains answers in an environment."""
    thought, most_calls = agent.get("thought") or "optional", agent.get("most_calls", 1)
    return response_pattern(agent["grammar"], space=space, thought=thought, most_calls=most_calls)


def keep_in(engine: Engine, tokenizer: Tokenizer) -> Keep:
    """A `Keep` for an engine in this process, whose table grows by what its episodes can call."""
    spelling = Spelling.of(tokenizer.token_bytes(), tokenizer.end, engine.model.vocabulary, tokenizer.encode)
    growing = threading.Lock()

    def keep(name: str, pattern: str) -> None:
        with growing:
            before = engine.constraints or unconstrained(engine.model.vocabulary)
            if name not in before.start:
                engine.set_constraints(extend_constraints(before, {name: pattern}, spelling))

    return lambda name, pattern: asyncio.to_thread(keep, name, pattern)


def once(keep: Keep) -> Keep:
    """A `Keep` that asks for each name once; one that failed is asked for again."""
    kept: set[str] = set()

    async def first(name: str, pattern: str) -> None:
        if name not in kept:
            await keep(name, pattern)
            kept.add(name)

    return first


@dataclasses.dataclass(frozen=True)
class _ConstrainedSession:
    session: Any  # takes `sampling`, beside what every PolicySession does
    sampling: Sampling

    async def respond(self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool) -> Any:
        return await self.session.respond(tokens, images, restart=restart, sampling=self.sampling)

    async def remember(self, tokens: Sequence[int], most: int, usual: str) -> Any:
        return await ask_to_remember(self.session, tokens, most, usual)
