"""One interface to a policy, wherever it runs: this process's engine, our server, any OpenAI-compatible endpoint.

    async with open_client("local", engine=engine, turns=turns) as client: ...
    async with open_client("http://127.0.0.1:8000", turns=turns) as client: ...
    async with open_client("https://somewhere/v1", turns=turns, model="their-model", api_key=key) as client: ...

    async with client.session(seed) as session:               # what tars_jax/agent/loop.py plays with
        sampled = await session.respond(tokens, images, restart=True)
    reply = await client.chat([Message("user", ("What is this?", screenshot))])

Tokens are the interface, because a learner must train on exactly what was sampled. An endpoint that takes messages
only is asked through `turns`, which reads the agent's tokens back into messages and writes the answer as tokens; then
`client.exact` is False, log-probabilities are 0 and versions -1: good to be evaluated or imitated, not for PPO.
"""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from tars_jax import InputError
from tars_jax.inference.engine import Engine
from tars_jax.inference.sampling import Refused, Sampled, Sampling
from tars_jax.inference.turns import Message, TurnFormat


class PolicyUnavailable(RuntimeError):
    """The policy cannot be reached, or has lost the session: a failure of the infrastructure, never a reward."""


class Declined(Refused):
    """The policy takes no further turn of this conversation, though it does of others. `reason` is
    context_length_exceeded, body_too_large or content_filter."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message, "messages")
        self.reason = reason


@dataclasses.dataclass(frozen=True)
class Reply:
    """An answer to messages."""

    text: str
    finish: str  # stop, or length: the budget ran out


class ClientSession(Protocol):
    """A live context: the agent loop's `PolicySession`, and how to sample if not as the policy's owner has set."""

    async def respond(
        self, tokens: Sequence[int], images: Sequence[np.ndarray], *, restart: bool, sampling: Sampling | None = None
    ) -> Sampled:
        """Reads tokens and images (uint8 [height, width, 3]), after what the context holds or in a new one; answers.

        Raises InputError for what the policy refuses, which is Declined where it is a matter of this conversation
        alone; PolicyUnavailable when it does not answer. After an error, or when waiting was given up, the session
        goes on with restart=True.
        """
        ...


class PolicyClient(Protocol):
    """A policy. `exact`: what sessions return is what the policy sampled, with its own log-probabilities."""

    @property
    def exact(self) -> bool: ...

    @property
    def told(self) -> Mapping[str, Any]:
        """What our server says of its policy (GET /v1/rl/policy); empty at any other."""
        ...

    def session(self, seed: int) -> AbstractAsyncContextManager[ClientSession]:
        """A live context with a random stream of its own, closed at the end of the block."""
        ...

    async def chat(self, messages: Sequence[Message], sampling: Sampling | None = None) -> Reply:
        """One answer to a conversation. Raises as `ClientSession.respond` does."""
        ...


class LocalClient:
    """An engine in this process."""

    exact = True
    told: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, engine: Engine, turns: TurnFormat | None) -> None:
        self._engine, self._turns = engine, turns

    def session(self, seed: int) -> AbstractAsyncContextManager[ClientSession]:
        return self._engine.session(seed)

    async def chat(self, messages: Sequence[Message], sampling: Sampling | None = None) -> Reply:
        turns = require_turns(self._turns, "chat")
        prompt = turns(messages)
        room = self._engine.config.max_length - len(prompt.tokens)
        sampling = sampling or Sampling()
        if sampling.max_new_tokens is None:
            budget = max(1, min(self._engine.config.max_new_tokens, room))
            sampling = dataclasses.replace(sampling, max_new_tokens=budget)
        async with self._engine.session(secrets.randbits(32)) as session:
            sampled = await session.respond(prompt.tokens, prompt.images, restart=True, sampling=sampling)
        return Reply(turns.codec.decode(sampled.tokens).removesuffix(turns.end), sampled.finish)


@contextlib.asynccontextmanager
async def open_client(
    target: str,
    *,
    engine: Engine | None = None,
    turns: TurnFormat | None = None,
    model: str = "",
    api_key: str = "",
    patience: float = 120.0,
) -> AsyncIterator[PolicyClient]:
    """A client of the policy at `target`: "local", or an address that begins with http.

    Args:
        engine: for "local".
        turns: how messages stand in tokens. Needed for `chat` of "local" and for sessions of a plain endpoint.
        model: the model's name at a plain endpoint; our server's own is known.
        api_key: sent as a bearer token.
        patience: seconds for one answer, and for a busy server to take a request.

    Raises InputError for a target that is none of these, PolicyUnavailable when nobody answers there.
    """
    if target == "local":
        if engine is None:
            raise InputError('client: the target "local" takes an engine')
        yield LocalClient(engine, turns)
        return
    if not target.startswith(("http://", "https://")):
        raise InputError(f'client: the target is {target!r}, it takes "local" or an address that begins with http')
    from tars_jax.inference.http_client import open_http_client

    async with open_http_client(target, turns, model, api_key, patience) as client:
        yield client


def require_turns(turns: TurnFormat | None, what: str) -> TurnFormat:
    if turns is None:
        raise InputError(f"client.turns: {what} takes the form in which messages stand in tokens")
    return turns
