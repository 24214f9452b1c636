"""Sessions that a client has opened in a computer, by names of its own: shells and kernels."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

from tars_jax import InputError
from tars_jax.sandbox.computer.guest_client import GuestError
from tars_jax.sandbox.failures import SandboxFailure

MOST_SESSIONS = 64  # shells of one computer at once
LONGEST_S = 86_400.0  # of a command for which its client names no time


class NotOpen(InputError):
    """There is no session of that name."""


class AlreadyOpen(InputError):
    """There is one of that name."""


class TooMany(InputError):
    """No other session can be opened until one is closed."""


class Closes(Protocol):
    async def close(self) -> None: ...


S = TypeVar("S", bound=Closes)


class NamedSessions(Generic[S]):
    """At most so many. Nobody waits for the start of another one's session."""

    def __init__(self, kind: str, most: int, is_busy: Callable[[S], Awaitable[bool]] | None = None) -> None:
        """`kind`: a word for messages, such as "shell". With `is_busy`, where there are as many as there may be, the
        one that was idle for longest is closed for the next.
        """
        self._kind, self.most, self._is_busy = kind, most, is_busy
        self.named: dict[str, S] = {}
        self.used: dict[str, float] = {}  # when it was last asked for, in seconds since 1970
        self._opening: dict[str, asyncio.Future[S]] = {}

    def known(self, name: str) -> S:
        """The session of this name. Raises NotOpen."""
        if name not in self.named:
            among = ", ".join(self.named) or "none"
            raise NotOpen(f"{self._kind} must be one that is open; got {name!r:.200}, and there are: {among:.400}")
        self.used[name] = time.time()
        return self.named[name]

    def add(self, name: str, session: S) -> S:
        self.named[name], self.used[name] = session, time.time()
        return session

    async def open(self, name: str, make: Callable[[], Awaitable[S]]) -> S:
        """The session of that name, made where there is none. Raises TooMany, and what `make` raises."""
        if name in self.named:
            return self.known(name)
        if name not in self._opening:
            opening = self._opening[name] = asyncio.ensure_future(self._made(name, make))
            opening.add_done_callback(lambda done: self._opened(name, done))
        return await asyncio.shield(self._opening[name])

    async def open_new(self, name: str, make: Callable[[], Awaitable[S]]) -> S:
        """Raises AlreadyOpen for a name that there is, and as `open`."""
        if name in self.named or name in self._opening:
            raise AlreadyOpen(f"{self._kind} must be a new name; got {name!r:.200}, which is open")
        return await self.open(name, make)

    def _opened(self, name: str, done: asyncio.Future[S]) -> None:
        del self._opening[name]
        if not done.cancelled():
            done.exception()  # whoever waits has it

    async def _made(self, name: str, make: Callable[[], Awaitable[S]]) -> S:
        if len(self.named) + len(self._opening) > self.most:
            await self._make_place()
        return self.add(name, await make())

    async def _make_place(self) -> None:
        for name, session in sorted(self.named.items(), key=lambda each: self.used[each[0]]):
            idle = self._is_busy is not None and not await self._is_busy(session)
            if idle and self.named.get(name) is session:
                await self.close_one(name)
                return
        busy = "" if self._is_busy is None else ", and all are busy"
        raise TooMany(f"there may be {self.most} {self._kind} sessions at once{busy}; close one first")

    async def close_one(self, name: str) -> None:
        """Closes the session of this name. Raises NotOpen."""
        session = self.known(name)
        del self.named[name], self.used[name]
        await session.close()

    async def close(self) -> None:
        """Closes all sessions."""
        sessions, self.named, self.used = self.named, {}, {}
        with contextlib.suppress(GuestError, SandboxFailure):
            await asyncio.gather(*(session.close() for session in sessions.values()))
