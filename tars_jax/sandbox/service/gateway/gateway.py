"""/s/ID/...: one way in for all that a session shows, with the checks before every mount."""

from __future__ import annotations

import contextlib
import dataclasses
import hmac
import urllib.parse
from collections.abc import Mapping

from starlette.requests import HTTPConnection, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from tars_jax.sandbox.failures import SessionEnded
from tars_jax.sandbox.service.access import Access
from tars_jax.sandbox.service.computers.session import ComputerSession
from tars_jax.sandbox.service.computers.sessions import ComputerSessions
from tars_jax.sandbox.service.config import ServiceConfig
from tars_jax.sandbox.service.errors import typed_errors
from tars_jax.sandbox.service.gateway.error_pages import error_page
from tars_jax.sandbox.service.gateway.grants import (
    GRANT,
    Grants,
    Right,
    own_host,
    session_of_host,
    set_cookie,
    split_cookies,
    watch_token,
)
from tars_jax.sandbox.service.gateway.headers import to_inside
from tars_jax.sandbox.service.gateway.http_proxy import forward
from tars_jax.sandbox.service.gateway.mounts import SessionMount, page
from tars_jax.sandbox.service.gateway.paths import PORT, PREFIX, Target, read_path
from tars_jax.sandbox.service.gateway.socket_proxy import forward_socket
from tars_jax.web.protocol import RequestError
from tars_jax.web.responses import JsonResponse

SHOW_A_DESKTOP = ("desktop", "osworld")
SAFE = ("GET", "HEAD", "OPTIONS")
NO_REFERRER = {"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}
REFUSAL = 1008  # RFC 6455
SHOWN = {"index.html", "index.js", "preview.css"}
PAGE = "page"  # the mount of what the page without a mount needs
WATCHED = ("", PAGE, "desktop")  # mounts for who may only watch


@dataclasses.dataclass(frozen=True)
class _Admitted:
    session: ComputerSession
    by_header: bool  # a header has opened it, which is no program's inside
    right: Right = Right.ALL


class Gateway:
    """An ASGI application for the paths below /s/ and for the hosts ID.localhost.

    Args:
        mounts: by their names, besides the ports: terminal, desktop, and applications of others over a session.
    """

    def __init__(
        self, sessions: ComputerSessions, config: ServiceConfig, access: Access, mounts: Mapping[str, SessionMount]
    ) -> None:
        self._sessions, self._config, self._access, self._mounts = sessions, config, access, dict(mounts)
        self.grants = Grants()
        self._opened: dict[tuple[str, str], ASGIApp] = {}  # by session and mount

    def takes(self, scope: Scope, host: str) -> bool:
        """Whether a request is for the gateway."""
        return self.owner_of(host) is not None or scope.get("raw_path", b"").startswith(PREFIX)

    def owner_of(self, host: str) -> str | None:
        """The session whose own name a Host is."""
        return session_of_host(host, self._config.preview_domain)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._serve(scope, receive, send)
        except RequestError as error:
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": REFUSAL, "reason": error.message[:100]})
                return
            await error_page(error, scope)(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = HTTPConnection(scope)
        host = connection.headers.get("host", "")
        target = read_path(scope["raw_path"])
        if (own := self.owner_of(host)) is not None and own != target.id:
            raise RequestError(f"the host {host[:100]!r} shows the session {own} and no other", status=421)
        scope["path_params"] = {"id": target.id}
        if target.mount == "open" and scope["type"] == "http" and scope["method"] == "POST":
            await (await self._open(Request(scope, receive), target, host))(scope, receive, send)
            return
        admitted = self._admitted(connection, target, own=own is not None)
        if admitted is None:
            await self._sent_on(connection, target, host, own=own is not None)(scope, receive, send)
            return
        if not target.rest:
            query = f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else ""
            await RedirectResponse(f"{target.prefix}/{query}", 307, headers=NO_REFERRER)(scope, receive, send)
            return
        if admitted.right is Right.WATCH and target.mount not in WATCHED:
            raise RequestError("who may only watch sees the desktop and nothing else", status=403, code="watches")
        with typed_errors():
            if admitted.right is Right.ALL:
                await admitted.session.resume()
            admitted.session.computer  # noqa: B018 (raises what there is to say when it has gone)
            await self._pass(scope, receive, send, admitted, target, host)

    # ---- who may ----

    def _admitted(self, connection: HTTPConnection, target: Target, *, own: bool) -> _Admitted | None:
        """None for a browser that has to be sent on.

        Raises RequestError for everybody else.
        """
        cookies, _ = split_cookies(connection.headers.getlist("cookie"))
        comes = connection.scope.get("method") == "GET" and bool({"token", GRANT} & set(connection.query_params))
        right = self.grants.right(target.id, cookies) if own else None
        if right is Right.ALL and comes and self._opens(connection, target.id):
            return None  # a program inside sees neither, nor does whoever reads the address
        if right is Right.ALL or (right is Right.WATCH and not comes):  # who watches may come again with more
            self._require_own_page(connection)
            with contextlib.suppress(SessionEnded):
                return _Admitted(self._sessions.get(target.id), by_header=False, right=right)
        if "authorization" in connection.headers or connection.scope["type"] == "websocket":
            return _Admitted(self._access.session_of(ComputerSession, connection), by_header=True)
        if comes:
            return None
        # Or says what is missing.
        return _Admitted(self._access.session_of(ComputerSession, connection), by_header=True)

    def _require_own_page(self, connection: HTTPConnection) -> None:
        """A cookie comes with requests of any page; one that changes something or stays open must be of our own."""
        scope, origin = connection.scope, connection.headers.get("origin")
        own = f"{_scheme(scope)}://{connection.headers.get('host', '')}"
        if origin is not None and origin.lower() != own.lower() and (
            scope["type"] == "websocket" or scope["method"] not in SAFE
        ):  # fmt: skip
            raise RequestError("Origin must be the page's own; got that of another", status=403, code="origin")

    def _sent_on(self, connection: HTTPConnection, target: Target, host: str, *, own: bool) -> Response:
        """A browser with a token or a grant in its address: on to the session's own name, without either."""
        query = urllib.parse.parse_qsl(connection.scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = dict(query)
        rest = urllib.parse.urlencode([pair for pair in query if pair[0] not in ("token", GRANT)])
        clean = f"{target.prefix}{target.rest or '/'}{f'?{rest}' if rest else ''}"
        if own and GRANT in given and (cookie := self.grants.redeem(target.id, given[GRANT])) is not None:
            secure = _scheme(connection.scope) == "https"
            headers = {**NO_REFERRER, "Set-Cookie": set_cookie(cookie, target.id, secure=secure)}
            return Response(status_code=303, headers={**headers, "Location": clean})
        cookies, _ = split_cookies(connection.headers.getlist("cookie"))
        if own and self.grants.right(target.id, cookies) is Right.ALL:  # it has been let in before
            return Response(status_code=303, headers={**NO_REFERRER, "Location": clean})
        right = self._right_of(connection, target.id, given.get("token", ""))
        return self._with_grant(connection.scope, target.id, host, clean, right)

    def _opens(self, connection: HTTPConnection, id: str) -> bool:
        """Whether what an address has is ours: a program inside may have a parameter `token`, too."""
        if GRANT in connection.query_params:
            return True
        with contextlib.suppress(RequestError):
            return self._right_of(connection, id, connection.query_params["token"]) is not None
        return False

    def _right_of(self, connection: HTTPConnection, id: str, token: str) -> Right:
        """Raises RequestError for one that opens nothing here; the words of it are those of any request's."""
        with contextlib.suppress(SessionEnded):
            watching = watch_token(self._sessions.get(id).lease)
            if hmac.compare_digest(watching.encode(), token.encode(errors="replace")):
                return Right.WATCH
        headers = [(b"authorization", f"Bearer {token}".encode("latin-1", "replace"))]
        asked = {**connection.scope, "headers": headers, "query_string": b""}
        self._access.session_of(ComputerSession, HTTPConnection(asked))
        return Right.ALL

    def _with_grant(self, scope: Scope, id: str, host: str, path: str, right: Right) -> Response:
        named = host if self.owner_of(host) else own_host(id, self._config.preview_domain, host)
        grant = f"{'&' if '?' in path else '?'}{GRANT}={self.grants.grant(id, right)}"
        self.grants.forget(known for known in self.grants.sessions if known not in self._sessions)
        return RedirectResponse(f"{_scheme(scope)}://{named}{path}{grant}", 303, headers=NO_REFERRER)

    async def _open(self, request: Request, target: Target, host: str) -> Response:
        """A form {token, mount}: the way of the live page, so that a key is in no address at all."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/x-www-form-urlencoded":
            raise RequestError("Content-Type must be application/x-www-form-urlencoded", status=415)
        form = dict(urllib.parse.parse_qsl((await request.body()).decode("latin-1"), keep_blank_values=True))
        right = self._right_of(request, target.id, form.get("token", ""))
        mount = read_path(f"/s/{target.id}/{form.get('mount', '')}".encode("latin-1", "replace"))
        return self._with_grant(request.scope, target.id, host, f"{mount.prefix}{mount.rest or '/'}", right)

    # ---- what is behind the mounts ----

    async def _pass(
        self, scope: Scope, receive: Receive, send: Send, admitted: _Admitted, target: Target, host: str
    ) -> None:
        session, by_header = admitted.session, admitted.by_header
        if admitted.right is Right.ALL:  # who only watches keeps nothing alive
            session.renew()
        if target.mount in ("", PAGE):
            await session.look()
            await self._index(scope, admitted, target)(scope, receive, send)
        elif target.mount == PORT:
            headers = to_inside(scope["headers"], target, host, _scheme(scope), by_header=by_header)
            query = scope["query_string"]
            if by_header and scope["type"] == "websocket":
                query = _without_token(query)
            path = target.rest.encode("latin-1") + (b"?" + query if query else b"")
            machine = session.computer.machine
            if scope["type"] == "websocket":
                await forward_socket(WebSocket(scope, receive, send), machine, target, path, headers, session.renew)
            else:
                await forward(scope, receive, send, machine, target, path, headers, session.renew)
        else:
            app = self._app(session, target)
            rest = urllib.parse.unquote(target.rest)
            inside = {**scope, "path": rest, "raw_path": target.rest.encode("latin-1"), "root_path": "", "app": None}
            inside.pop("path_params", None)
            watches = admitted.right is Right.WATCH
            await app({**inside, "prefix": target.prefix, "watches": watches}, receive, send)

    def _app(self, session: ComputerSession, target: Target) -> ASGIApp:
        if target.mount not in self._mounts:
            known = ", ".join([PORT, *self._mounts])
            raise RequestError(f"there is no mount {target.mount!r}; there are {known}", status=404)
        for key in [key for key in self._opened if key[0] not in self._sessions]:
            del self._opened[key]
        key = session.id, target.mount
        if key not in self._opened:
            self._opened[key] = self._mounts[target.mount](session)
        return self._opened[key]

    def _index(self, scope: Scope, admitted: _Admitted, target: Target) -> Response:
        """The page that links the mounts, and what belongs to it."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            raise RequestError("this path takes GET", status=405)
        name = target.rest.removeprefix("/") if target.mount else "index.html"
        if name == "info":
            session, watches = admitted.session, admitted.right is Right.WATCH
            mounts = [name for name in self._mounts if name not in SHOW_A_DESKTOP or session.desktop is not None]
            if watches:
                shown = {"id": session.id, "mounts": [name for name in mounts if name in WATCHED], "ports": []}
                return JsonResponse({**shown, "parts": [], "seconds_left": session.seconds_left, "watches": True})
            told = {**session.to_json(), "mounts": mounts, "watches": False, "watch": watch_token(session.lease)}
            return JsonResponse(told)
        if name not in SHOWN:
            raise RequestError(f"there is no {name[:100]!r} here", status=404)
        return page(name)


def _scheme(scope: Scope) -> str:
    scheme: str = scope["scheme"]
    return {"ws": "http", "wss": "https"}.get(scheme, scheme)


def _without_token(query: bytes) -> bytes:
    return b"&".join(pair for pair in query.split(b"&") if not pair.startswith(b"token=")) if query else query
