"""Access to the service: an owner by key, or whoever holds the token of a session."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import TypeVar

from starlette.requests import HTTPConnection

from tars_jax.sandbox.failures import SessionEnded
from tars_jax.sandbox.service.config import OPERATOR, Owner, ServiceConfig
from tars_jax.sandbox.service.errors import ENDED, WRONG_KIND
from tars_jax.sandbox.sessions.leased_session import LeasedSession
from tars_jax.sandbox.sessions.registry import AllSessions, opens
from tars_jax.web.credentials import password
from tars_jax.web.protocol import RequestError

S = TypeVar("S", bound=LeasedSession)
ASKED_BY = "tars_jax.owner"  # of a scope: the owner whose key an application around this one has seen
API_KEY = "x-api-key"  # where there is no Authorization: clients of other sandboxes send it


class Access:
    """Checks keys and tokens. Raises RequestError: 401 without a known one, 404 for a session that is not theirs."""

    def __init__(self, sessions: AllSessions, config: ServiceConfig) -> None:
        self._sessions, self._owners = sessions, config.owners

    def owner(self, connection: HTTPConnection) -> Owner:
        if isinstance(known := connection.scope.get(ASKED_BY), Owner):
            return known
        return require_owner(self._owners, connection)

    def visible(self, connection: HTTPConnection) -> list[LeasedSession]:
        owner = self.owner(connection)
        return self._sessions.all_of(None if owner.name == OPERATOR else owner.name)

    def session(self, connection: HTTPConnection) -> LeasedSession:
        """The session of the path, for the holder of its token, its owner or the operator."""
        id, given = connection.path_params["id"], bearer(connection)
        try:
            session = self._sessions.get(id)
        except SessionEnded as error:
            if not given:
                self.owner(connection)  # only somebody with a key or a token, be it an old one, hears that it is gone
            raise _no_session(str(error)) from error
        if opens(session.lease, given):
            return session
        owner = self.owner(connection)
        if owner.name not in (OPERATOR, session.lease.owner):
            raise _no_session(str(SessionEnded(id)))
        return session

    def session_of(self, kind: type[S], connection: HTTPConnection) -> S:
        """Like `session`; one of another kind is refused."""
        session = self.session(connection)
        if not isinstance(session, kind):
            words = f"the session must be of kind {kind.kind!r} for this; got one of {session.kind!r}"
            raise RequestError(words, code=WRONG_KIND)
        return session


def owner_of(owners: Sequence[Owner], key: str) -> Owner | None:
    return next((owner for owner in owners if hmac.compare_digest(owner.key.encode(), key.encode())), None)


def require_owner(owners: Sequence[Owner], connection: HTTPConnection) -> Owner:
    """The owner whose key comes with the request. Raises RequestError(401) without a known one."""
    if (owner := owner_of(owners, bearer(connection))) is None:
        raise RequestError(
            "the header Authorization must be Bearer KEY; got no key, or a wrong one",
            status=401,
            code="invalid_api_key",
            headers={"WWW-Authenticate": "Bearer"},
        )
    return owner


def bearer(connection: HTTPConnection) -> str:
    """The key or token of a request, from a header or an address's password; for WebSockets, which browsers open
    without headers, from the query."""
    kind, _, given = connection.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return given.strip()
    if kind.lower() == "basic":
        return password(given.strip())
    if not kind and (key := connection.headers.get(API_KEY)):
        return key
    return connection.query_params.get("token", "") if connection.scope["type"] == "websocket" else ""


def _no_session(words: str) -> RequestError:
    return RequestError(words, status=404, code=ENDED)
