"""Sessions that clients have opened, by their names: shells, kernels, programs of node."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

from tars_jax.sandbox.compat.aio.answers import Failed
from tars_jax.sandbox.computer.guest_client import GuestError
from tars_jax.sandbox.failures import SandboxFailure


class Session(Protocol):
    used: float  # when, in seconds since 1970

    async def is_busy(self) -> bool: ...

    async def close(self) -> None: ...


S = TypeVar("S", bound=Session)


class Sessions(Generic[S]):
    """At most so many: the one that was idle for longest makes place for another."""

    def __init__(self, kind: str, most: int) -> None:
        """`kind`: a word for messages, such as "shell"."""
        self._kind, self.most = kind, most
        self.named: dict[str, S] = {}
        self._opening: dict[str, asyncio.Future[S]] = {}

    def known(self, id: str) -> S:
        """Raises Failed."""
        if id not in self.named:
            raise Failed(404, f"there is no {self._kind} session {id!r:.200}")
        self.named[id].used = time.time()
        return self.named[id]

    async def open(self, id: str, make: Callable[[], Awaitable[S]]) -> S:
        """The session of that name, made where there is none. Nobody waits for another one's start.

        Raises Failed where there are too many, all of them busy, and what `make` raises.
        """
        if id in self.named:
            return self.known(id)
        if id not in self._opening:
            opening = self._opening[id] = asyncio.ensure_future(self._made(id, make))
            opening.add_done_callback(lambda done: self._opened(id, done))
        return await asyncio.shield(self._opening[id])

    def _opened(self, id: str, done: asyncio.Future[S]) -> None:
        del self._opening[id]
        if not done.cancelled():
            done.exception()  # whoever waits has it

    async def _made(self, id: str, make: Callable[[], Awaitable[S]]) -> S:
        if len(self.named) + len(self._opening) > self.most:
            await self._make_place()
        session = self.named[id] = await make()
        return session

    async def _make_place(self) -> None:
        for id, session in sorted(self.named.items(), key=lambda each: each[1].used):
            if not await session.is_busy() and self.named.pop(id, None) is session:
                await session.close()
                return
        words = f"there may be {self.most} {self._kind} sessions at once, and all are busy; end one"
        raise Failed(429, words)

    async def end(self, id: str) -> None:
        """Raises Failed."""
        session = self.known(id)
        del self.named[id]
        await session.close()

    async def close(self) -> None:
        """Ends all."""
        sessions, self.named = self.named, {}
        with contextlib.suppress(GuestError, SandboxFailure):
            await asyncio.gather(*(session.close() for session in sessions.values()))
