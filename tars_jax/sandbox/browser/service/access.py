"""Who asks: an owner by key, or whoever holds the token of a session."""

from __future__ import annotations

import hmac

from starlette.requests import HTTPConnection

from tars_jax.sandbox.browser.service.config import OPERATOR, Owner, ServiceConfig
from tars_jax.sandbox.browser.service.errors import ENDED
from tars_jax.sandbox.browser.sessions import Session, Sessions
from tars_jax.sandbox.failures import SessionEnded
from tars_jax.web.protocol import RequestError


class Access:
    """Checks keys and tokens. Raises RequestError: 401 without a known one, 404 for a session that is not theirs."""

    def __init__(self, sessions: Sessions, config: ServiceConfig) -> None:
        self._sessions, self._owners = sessions, config.owners

    def owner(self, connection: HTTPConnection) -> Owner:
        given = _bearer(connection)
        for owner in self._owners:
            if hmac.compare_digest(owner.key.encode(), given.encode()):
                return owner
        raise RequestError(
            "the header Authorization must be Bearer KEY; got no key, or a wrong one",
            status=401,
            code="invalid_api_key",
            headers={"WWW-Authenticate": "Bearer"},
        )

    def visible(self, connection: HTTPConnection) -> list[Session]:
        owner = self.owner(connection)
        return self._sessions.all_of(None if owner.name == OPERATOR else owner.name)

    def session(self, connection: HTTPConnection) -> Session:
        """The session of the path, for the holder of its token, its owner or the operator."""
        id = connection.path_params["id"]
        try:
            session = self._sessions.get(id)
        except SessionEnded as error:
            if not _bearer(connection):
                self.owner(connection)  # only somebody with a key or a token, be it an old one, hears that it is gone
            raise _no_session(str(error)) from error
        if self._sessions.opens(session, _bearer(connection)):
            return session
        owner = self.owner(connection)
        if owner.name not in (OPERATOR, session.lease.owner):
            raise _no_session(str(SessionEnded(id)))
        return session


def _bearer(connection: HTTPConnection) -> str:
    """From the header; for WebSockets, which browsers open without headers, also from the query."""
    kind, _, given = connection.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return given.strip()
    return connection.query_params.get("token", "") if connection.scope["type"] == "websocket" else ""


def _no_session(words: str) -> RequestError:
    return RequestError(words, status=404, code=ENDED)
