"""Rights to use a mount: of the holder of a key or token by a header, or of a browser by a cookie that one was given
for.

Pages of a session are shown under a host name of its own, ID.localhost, so that to a browser they are strangers to the
service's own pages and to those of other sessions. Cookies count under that name alone. A browser comes there with a
grant, which is good once and for a minute and leaves its address bar at once.
"""

from __future__ import annotations

import enum
import hashlib
import http.cookies
import re
import secrets
import time
from collections.abc import Iterable

from tars_jax.sandbox.sessions.leased_session import Lease
from tars_jax.sandbox.sessions.registry import SESSION_ID
from tars_jax.web.request_limits import HOST

COOKIE = "tars_preview"
GRANT = "tars_grant"  # the name of a grant in an address: programs inside have parameters of their own
GRANT_S = 60.0
MOST_COOKIES = 32  # of one session: browsers that look at it
MOST_GRANTS = 64
ID = re.compile(SESSION_ID)


class Right(enum.IntEnum):
    WATCH = 1  # to see the desktop, with no hand on it
    ALL = 2


def watch_token(lease: Lease) -> str:
    """Opens the previews of a session to whoever may only watch. It follows from the session's token, and not back."""
    return f"watch-{_digest(f'watch {lease.token_sha256}')}"


class Grants:
    """Grants of all sessions; what is kept of cookies and grants is their digest."""

    def __init__(self) -> None:
        self._grants: dict[str, tuple[str, float, Right]] = {}  # -> session, until when
        self._cookies: dict[str, list[tuple[str, Right]]] = {}  # session -> digests, oldest first

    def grant(self, id: str, right: Right) -> str:
        """A word that opens the session once."""
        now = time.monotonic()
        for old in [each for each, (_, until, _) in self._grants.items() if until < now]:
            del self._grants[old]
        own = [each for each, (session, *_) in self._grants.items() if session == id]
        for old in own[: max(0, len(own) + 1 - MOST_GRANTS)]:
            del self._grants[old]
        word = secrets.token_urlsafe(24)
        self._grants[_digest(word)] = id, now + GRANT_S, right
        return word

    def redeem(self, id: str, word: str) -> str | None:
        """The value of a cookie for a grant of this session; None for one that is none, or was used."""
        session, until, right = self._grants.get(_digest(word), ("", 0.0, Right.WATCH))
        if session != id or until < time.monotonic():
            return None
        del self._grants[_digest(word)]
        value = secrets.token_urlsafe(24)
        cookies = self._cookies.setdefault(id, [])
        cookies.append((_digest(value), right))
        del cookies[:-MOST_COOKIES]
        return value

    def right(self, id: str, values: Iterable[str]) -> Right | None:
        """The largest that one of the cookies gives; None: they give none."""
        digests = {_digest(value) for value in values}
        return max((right for known, right in self._cookies.get(id, ()) if known in digests), default=None)

    def forget(self, gone: Iterable[str]) -> None:
        """Sessions that have ended."""
        for id in gone:
            self._cookies.pop(id, None)

    @property
    def sessions(self) -> list[str]:
        return list(self._cookies)


def session_of_host(host: str, domain: str) -> str | None:
    """The session whose own name a Host is: ID.localhost, with or without a port."""
    match = HOST.fullmatch(host.strip())
    name = (match.group(2) or "").lower().removesuffix(".") if match else ""
    id, dot, rest = name.partition(".")
    return id if dot and rest == domain.lower() and ID.fullmatch(id) else None


def own_host(id: str, domain: str, host: str) -> str:
    """The session's own name, with the port of the Host that a client used."""
    port = re.search(r":[0-9]{1,5}$", host)
    return f"{id}.{domain}{port.group() if port else ''}"


def split_cookies(headers: Iterable[str]) -> tuple[list[str], str]:
    """Values of our cookie, and the header without it, for the program inside."""
    own, others = [], []
    for header in headers:
        for pair in header.split(";"):
            name, _, value = pair.strip().partition("=")
            if name == COOKIE:
                own.append(value)
            elif pair.strip():
                others.append(pair.strip())
    return own, "; ".join(others)


def set_cookie(value: str, id: str, *, secure: bool) -> str:
    """Lax, as a browser comes from the service's own page, which has another name; scripts cannot read it."""
    cookie: http.cookies.SimpleCookie = http.cookies.SimpleCookie({COOKIE: value})
    morsel = cookie[COOKIE]
    morsel["path"], morsel["httponly"], morsel["samesite"] = f"/s/{id}/", True, "Lax"
    if secure:
        morsel["secure"] = True
    return morsel.OutputString()


def _digest(word: str) -> str:
    return hashlib.sha256(word.encode(errors="replace")).hexdigest()
