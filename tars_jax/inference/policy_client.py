"""Clients of a policy, wherever it runs: sessions, answers, and the ways in which they fail."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import numpy as np

from tars_jax import InputError
from tars_jax.inference.chat_template import Message, TurnFormat
from tars_jax.inference.sampling import InvalidRequest, Sampled, Sampling

MOST_CHARACTERS = 1 << 18  # of an answer


class PolicyUnavailable(RuntimeError):
    """The policy cannot be reached, or has lost the session: a failure of the infrastructure, never a reward."""


class Declined(InvalidRequest):
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
    def policy_info(self) -> Mapping[str, Any]:
        """Our server's description of its policy (GET /v1/rl/policy); empty at any other."""
        ...

    def session(self, seed: int) -> AbstractAsyncContextManager[ClientSession]:
        """A live context with a random stream of its own, closed at the end of the block."""
        ...

    async def chat(self, messages: Sequence[Message], sampling: Sampling | None = None) -> Reply:
        """One answer to a conversation. Raises as `ClientSession.respond` does."""
        ...


class MessageEndpoint(Protocol):
    """A policy behind an address that takes messages."""

    @property
    def policy_info(self) -> Mapping[str, Any]:
        """Like `PolicyClient.policy_info`."""
        ...

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Posts a body, to which the model's name is added, to a path such as chat/completions, and returns the API's
        answer. Raises as `ClientSession.respond` does."""
        ...


def encodable(text: str) -> str:
    """A text that came as JSON as one that a tokenizer takes: half a surrogate pair, which JSON can say, is a `?`, and
    of a text longer than any model's window only the beginning is kept, as reading it all would hold everybody up."""
    return text[:MOST_CHARACTERS].encode("utf-8", "replace").decode()


def require_turns(turns: TurnFormat | None, what: str) -> TurnFormat:
    if turns is None:
        raise InputError(f"client.turns must be a chat template for {what}; got None")
    return turns


@dataclasses.dataclass(frozen=True)
class ServedCounts:
    """Counts of the servers' work for this run so far."""

    busy_seconds: float  # in which one had a request of ours
    tokens_sampled: int


class RequestCounts:
    """Counts the requests of one event loop; any thread may read."""

    def __init__(self) -> None:
        self._waiting, self._busy, self._since, self._tokens = 0, 0.0, 0.0, 0

    async def count(self, answer: Awaitable[Sampled]) -> Sampled:
        """Awaits the answer and counts it."""
        if not self._waiting:
            self._since = time.monotonic()
        self._waiting += 1
        try:
            sampled = await answer
            self._tokens += len(sampled.tokens)
            return sampled
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._busy += time.monotonic() - self._since

    def read(self) -> ServedCounts:
        running = time.monotonic() - self._since if self._waiting else 0.0
        return ServedCounts(self._busy + running, self._tokens)
