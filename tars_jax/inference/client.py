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
from typing import Any

from tars_jax import InputError
from tars_jax.inference.chat_template import Message, TurnFormat
from tars_jax.inference.engine import Engine
from tars_jax.inference.http_client import open_http_client
from tars_jax.inference.policy_client import ClientSession, PolicyClient, Reply, require_turns
from tars_jax.inference.sampling import Sampling


class LocalClient:
    """An engine in this process."""

    exact = True
    policy_info: Mapping[str, Any] = MappingProxyType({})

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
        return Reply(turns.codec.decode(sampled.tokens).removesuffix(turns.chat.end), sampled.finish)


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
            raise InputError('client.engine must be given with the target "local"; got None')
        yield LocalClient(engine, turns)
        return
    if not target.startswith(("http://", "https://")):
        raise InputError(f'client.target must be "local" or an address that begins with http; got {target!r}')
    async with open_http_client(target, turns, model, api_key, patience) as client:
        yield client
