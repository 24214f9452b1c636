"""A live context of the policy, as its caller holds it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Protocol, Self

import numpy as np

from tars_jax.inference.sampling import OnToken, Sampled, Sampling
from tars_jax.inference.scheduler import LiveWindow, RandomStream


class SessionOwner(Protocol):
    """The part of the engine that a session needs."""

    @property
    def temperature(self) -> float:
        """The temperature of sampling by default."""
        ...

    def open(self, session: Session) -> None:
        """Raises Busy when too many are open."""
        ...

    def close(self, session: Session) -> None: ...

    def fork(self, session: Session, seed: int) -> Session: ...

    def give_up(self, window: LiveWindow) -> None:
        """Cancels a request: nobody waits for its answer any longer."""
        ...

    def submit(
        self,
        session: Session,
        tokens: Sequence[int],
        images: Sequence[np.ndarray],
        *,
        restart: bool,
        sampling: Sampling | None = None,
        on_token: OnToken | None = None,
    ) -> tuple[LiveWindow, Future[Sampled]]:
        """Queues new tokens for a session's window, or for a new one that takes its place.

        The answer is on its way or, after an exception, nothing has changed.
        """
        ...


class Session:
    """One trajectory's window and random stream. Structurally the agent's `PolicySession`.

    Use as an async context manager, or close it: until then its window takes a slot, or host memory.
    """

    def __init__(self, engine: SessionOwner, seed: int, window: LiveWindow) -> None:
        self._engine, self._window, self._stream = engine, window, RandomStream(seed & 0xFFFFFFFF)

    async def __aenter__(self) -> Self:
        self._engine.open(self)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    @property
    def window(self) -> LiveWindow:
        return self._window

    @property
    def stream(self) -> RandomStream:
        return self._stream

    @property
    def length(self) -> int:
        """Tokens of the window, those that were written included."""
        return self._window.length + (self._window.pending is not None)

    async def respond(
        self,
        tokens: Sequence[int],
        images: Sequence[np.ndarray],
        *,
        restart: bool,
        sampling: Sampling | None = None,
        on_token: OnToken | None = None,
    ) -> Sampled:
        """Reads tokens and screenshots (uint8 [height, width, 3]) and samples an answer.

        Args:
            restart: in a new window, which takes the place of the old one. Else after the last answer.
            sampling: how; None: at the engine's temperature, up to its `max_new_tokens`.
            on_token: called from the engine's thread with each token as it comes, also with those that `until` then
                takes back. What it raises ends this answer.

        Cancelled, it stops the answer after two chunks at most; then only a new window can follow.

        Raises InputError, and nothing has changed, when the window grows beyond the engine's `max_length`, when images
        and image tokens do not fit each other, and without `restart` when the last answer was not awaited to its end;
        Busy when too many requests wait.
        """
        self._window, future = self._engine.submit(
            self, tokens, images, restart=restart, sampling=sampling, on_token=on_token
        )
        window = self._window
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            self._engine.give_up(window)
            raise

    async def remember(self, tokens: Sequence[int], most: int, usual: str) -> Sampled:
        """Free text of at most so many tokens, after more of the window: no constraint holds for it."""
        sampling = Sampling(temperature=self._engine.temperature, max_new_tokens=most)
        return await self.respond(tokens, [], restart=False, sampling=sampling)

    def fork(self, seed: int) -> Session:
        """A session that goes on from here with a random stream of its own. The cache is copied when it first asks.

        It is open, and outlives this one. To share a prompt, read it with `Sampling(max_new_tokens=0)` and fork.

        Raises InputError where this session has an answer under way or has lost one; Busy when too many are open.
        """
        return self._engine.fork(self, seed)

    def close(self) -> None:
        """Gives back what the session holds; an answer under way is stopped. Closing again does nothing."""
        self._engine.close(self)
