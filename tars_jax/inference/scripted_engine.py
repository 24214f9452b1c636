"""Answers that a function writes, behind the policy server, where an engine would sample them.

What it answers is recorded as any episode is, with tokens that nobody sampled: versions are -1 and log-probabilities 0,
as of every reference player. It is imitated, and shows what a program asks before a policy is there.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np

from tars_jax import InputError
from tars_jax.inference.chat_template import Codec, Message
from tars_jax.inference.config import EngineConfig, EngineStatistics
from tars_jax.inference.sampling import InvalidRequest, OnToken, Sampled, Sampling, Token
from tars_jax.model.config import ModelConfig

Answers = Callable[[Sequence[Message], random.Random], str]
Reads = Callable[[Sequence[int], Sequence[np.ndarray]], Sequence[Message]]  # a window's tokens and images as messages


class ScriptedEngine:
    """An engine that answers from a script, with the interface of `Engine` that the server needs. Use as a context
    manager."""

    temperature, version, stopped, constraints = 1.0, -1, False, None

    def __init__(
        self, model: ModelConfig, config: EngineConfig, codec: Codec, stop: int, reads: Reads, answers: Answers
    ) -> None:
        """`answers`: the text of an answer to a window's messages, in a thread. `stop`: the token of its end."""
        self.model, self.config = model, config
        self._codec, self._stop, self._reads, self._answers = codec, stop, reads, answers

    def session(self, seed: int) -> ScriptedSession:
        return ScriptedSession(self, seed)

    def open(self, session: ScriptedSession) -> None:
        """Opens a session; there is room for any number."""

    def statistics(self) -> EngineStatistics:
        return EngineStatistics(0.0, 0.0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, self.version)

    def written(
        self, tokens: Sequence[int], images: Sequence[np.ndarray], rng: random.Random, sampling: Sampling
    ) -> Sampled:
        """The answer to a whole window."""
        most = self.config.max_new_tokens if sampling.max_new_tokens is None else sampling.max_new_tokens
        if len(tokens) + most > self.config.max_length:
            raise InvalidRequest(f"tokens must be at most {self.config.max_length - most}; got {len(tokens)}", "tokens")
        text = self._answers(self._reads(tokens, images), rng)
        if not isinstance(text, str):
            raise InputError(f"a reference must return the text of an answer; got {type(text).__name__}")
        whole = [*self._codec.encode(text), self._stop]
        written = whole[:most]
        finish = "stop" if len(written) == len(whole) else "length"
        return Sampled(tuple(written), (0.0,) * len(written), (-1,) * len(written), finish)


class ScriptedSession:
    """A session of a scripted engine: a window that grows."""

    def __init__(self, engine: ScriptedEngine, seed: int) -> None:
        self._engine, self._rng = engine, random.Random(seed)
        self._tokens: list[int] = []
        self._images: list[np.ndarray] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Does nothing: a scripted session holds no resources."""

    def close(self) -> None:
        """Does nothing: a scripted session holds no resources."""

    async def respond(
        self,
        tokens: Sequence[int],
        images: Sequence[np.ndarray],
        *,
        restart: bool,
        sampling: Sampling | None = None,
        on_token: OnToken | None = None,
    ) -> Sampled:
        """Like `Session.respond`."""
        before = ([], []) if restart else (self._tokens, self._images)
        tokens, images = [*before[0], *tokens], [*before[1], *images]
        sampled = await asyncio.to_thread(self._engine.written, tokens, images, self._rng, sampling or Sampling())
        self._tokens, self._images = [*tokens, *sampled.tokens], images
        for token in map(Token, sampled.tokens, sampled.log_probs, sampled.versions):
            if on_token is not None:
                on_token(token)
        return sampled
