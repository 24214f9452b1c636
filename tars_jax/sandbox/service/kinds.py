"""Kinds of sessions: what the service needs of each; everything else it does for all of them alike."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import IO, Any, Protocol, TypeAlias

from starlette.routing import BaseRoute

from tars_jax.sandbox.service.access import Access
from tars_jax.sandbox.service.config import Owner
from tars_jax.sandbox.sessions.leased_session import KeyedRequest, LeasedSession
from tars_jax.sandbox.sessions.registry import Registry
from tars_jax.web.protocol import RequestFields

# Of a session, and its token. What is kept of a session keeps the keyed request that opened it, too.
Opening: TypeAlias = Callable[[KeyedRequest | None], Awaitable[tuple[LeasedSession, str]]]


class Recorded(Protocol):
    """A recording: the calls of a session in their order, and the pictures that came of them. Its methods block."""

    def pack(self, file: IO[bytes]) -> None:
        """Writes it up to here as one .zip file: journal.jsonl, frames/."""
        ...

    def lines(self, after: int, most: int) -> list[dict[str, Any]]:
        """The calls from number `after` on, 0 the first: the journal's lines, each with its `number`."""
        ...

    def frame(self, number: int) -> bytes | None:
        """The PNG that a call gave, if it gave one."""
        ...


class Kind(Protocol):
    """Sessions of one kind. What goes wrong is raised as errors.py knows it."""

    @property
    def name(self) -> str:
        """The value of `kind` in the request for a lease."""
        ...

    @property
    def sessions(self) -> Registry: ...

    @property
    def default_lease_s(self) -> float: ...

    @property
    def most_lease_s(self) -> float: ...

    def running(self) -> contextlib.AbstractAsyncContextManager[Any]:
        """Within it there are sessions."""
        ...

    def opening(self, fields: RequestFields, owner: Owner, seconds: float) -> Opening:
        """Reads what a request asks for beside its lease, and says how that is opened. Raises RequestError."""
        ...

    async def call(self, session: Any, value: Any, *, idempotency_key: str | None, person: bool) -> dict[str, Any]:
        """Carries out a call that came as JSON, and answers with JSON; with the same idempotency key not twice."""
        ...

    async def picture(self, session: Any) -> bytes | None:
        """The session's picture for lists, as PNG; None: there is nothing yet."""
        ...

    def record(self, session: Any) -> None:
        """Records calls from now on. Twice is once."""
        ...

    def recording(self, session: Any) -> Recorded | None:
        """None: it is not recorded."""
        ...

    def routes(self, access: Access) -> Sequence[BaseRoute]:
        """Paths that this kind has beside those of all."""
        ...

    def stats(self) -> dict[str, Any]: ...
