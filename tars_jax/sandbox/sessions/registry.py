"""Sessions by their names: those of one kind, those of all kinds together, and how many there may be."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Protocol

from tars_jax.sandbox.failures import QuotaExceeded, SessionEnded
from tars_jax.sandbox.sessions.leased_session import KeyedRequest, Lease, LeasedSession

# One DNS label, as browsers see a session under a host name of its own: NODE-INCARNATION-RANDOM, or RANDOM alone.
NODE_ID = r"[a-z0-9][a-z0-9-]{0,36}-[0-9a-f]{8}"
SESSION_ID = rf"(?:{NODE_ID}-)?[0-9a-f]{{16}}"


class Registry(Protocol):
    """The sessions of one kind."""

    def __contains__(self, id: str) -> bool: ...

    def __len__(self) -> int: ...

    def get(self, id: str) -> LeasedSession:
        """Raises SessionEnded when there is none."""
        ...

    def all_of(self, owner: str | None = None) -> Sequence[LeasedSession]:
        """The sessions of one owner or of all, oldest first."""
        ...

    def renew(self, id: str, seconds: float | None = None) -> LeasedSession:
        """Raises SessionEnded, InputError for a length that no lease has."""
        ...

    async def release(self, id: str) -> None:
        """Ends a session. Raises SessionEnded when there is none."""
        ...

    def hand_over(self, id: str, owner: str, seconds: float) -> str:
        """Another owner has the session from now on, with a new token, which is returned; the old one opens nothing.

        Raises SessionEnded, InputError for a length that no lease has, SandboxFailure("disk").
        """
        ...


class SessionQuota:
    """The largest number of sessions of all registries that share it."""

    def __init__(self, most: int, per_owner: int) -> None:
        self.most, self.per_owner = most, per_owner
        self._registries: list[Registry] = []

    def holds(self, registry: Registry) -> None:
        self._registries.append(registry)

    def require(self, owner: str, quota: int | None = None, count: int = 1) -> None:
        """Raises QuotaExceeded where so many more are too many: ask right before they are entered."""
        own = sum(len(registry.all_of(owner)) for registry in self._registries)
        most = self.per_owner if quota is None else quota
        if own + count > most:
            raise QuotaExceeded(f"{owner} has {own} sessions, of {most}; release one first", own=True)
        if sum(map(len, self._registries)) + count > self.most:
            raise QuotaExceeded(f"all {self.most} sessions are taken; come again", own=False)


class AllSessions:
    """The sessions of several registries as of one."""

    def __init__(self, registries: Sequence[Registry]) -> None:
        self._registries = registries

    def _of(self, id: str) -> Registry:
        for registry in self._registries:
            if id in registry:
                return registry
        raise SessionEnded(id)

    def __contains__(self, id: str) -> bool:
        return any(id in registry for registry in self._registries)

    def __len__(self) -> int:
        return sum(map(len, self._registries))

    def get(self, id: str) -> LeasedSession:
        return self._of(id).get(id)

    def all_of(self, owner: str | None = None) -> list[LeasedSession]:
        found: list[LeasedSession] = []
        for registry in self._registries:
            found += registry.all_of(owner)
        return sorted(found, key=lambda session: session.created)

    def renew(self, id: str, seconds: float | None = None) -> LeasedSession:
        return self._of(id).renew(id, seconds)

    async def release(self, id: str) -> None:
        await self._of(id).release(id)


def new_id(node: str = "") -> str:
    """New id of a session; that of a node's session begins with the node's own, so that nobody has to look up where it
    is."""
    return "-".join([*filter(None, [node]), secrets.token_hex(8)])


def node_of(id: str) -> str:
    """The node that a session's id names; "": none, as it is one of a service of one machine."""
    return id[: -len("-0123456789abcdef")]


def new_lease(owner: str, seconds: float, request: KeyedRequest | None = None) -> tuple[Lease, str]:
    """A lease and its token, of which a digest is kept; with a `request` the token, too, as that may come again."""
    token = secrets.token_urlsafe(24)
    return Lease(owner, seconds, digest(token), request, token if request is not None else ""), token


def digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def opens(lease: Lease, token: str) -> bool:
    """Whether the token is that of the lease."""
    return hmac.compare_digest(digest(token), lease.token_sha256)
