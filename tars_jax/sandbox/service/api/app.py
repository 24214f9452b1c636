"""The service as an ASGI application: which path leads where, and what admits requests to all of them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tars_jax import InputError
from tars_jax.sandbox.service.access import Access
from tars_jax.sandbox.service.api.call_routes import CallRoutes
from tars_jax.sandbox.service.api.openings import Openings
from tars_jax.sandbox.service.api.recording_routes import RecordingRoutes
from tars_jax.sandbox.service.api.session_routes import SessionRoutes
from tars_jax.sandbox.service.computers.sessions import ComputerSessions
from tars_jax.sandbox.service.config import PACKAGE, ServiceConfig
from tars_jax.sandbox.service.gateway.code import code_mount
from tars_jax.sandbox.service.gateway.gateway import Gateway
from tars_jax.sandbox.service.gateway.jupyter import JupyterMount
from tars_jax.sandbox.service.gateway.mounts import SessionMount
from tars_jax.sandbox.service.gateway.terminal import terminal_mount
from tars_jax.sandbox.service.kinds import Kind
from tars_jax.sandbox.sessions.registry import AllSessions
from tars_jax.web.protocol import RequestError
from tars_jax.web.request_limits import Body, require_local_name
from tars_jax.web.responses import JsonResponse, error_response, http_error, internal_error, refuse

LIVE = PACKAGE / "sandbox" / "service" / "live"
SHOWN = {"live.js": "text/javascript", "live.css": "text/css", "input.js": "text/javascript"}
# The live page shows screenshots of pages that it does not trust: it runs its own code and nothing else.
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'"


def make_app(
    config: ServiceConfig,
    *kinds: Kind,
    mounts: Mapping[str, SessionMount] | None = None,
    openings: Openings | None = None,
) -> ASGIApp:
    """The application. It starts the kinds of sessions that it is given, and ends them when the server stops.

    A lease that names no kind is one of the first.

    Args:
        mounts: applications over a computer, by names: what is under /s/ID/NAME/ of each computer.
        openings: of these kinds' sessions, for whoever asks for their idempotency keys; None: nobody does.
    """
    named = {kind.name: kind for kind in kinds}
    sessions = AllSessions([kind.sessions for kind in kinds])
    access = Access(sessions, config)
    leases = SessionRoutes(named, sessions, config, access, openings or Openings(sessions))
    calls = CallRoutes(named, config, access)
    recordings = RecordingRoutes(named, access)

    async def health(request: Request) -> Response:
        return JsonResponse({"status": "ok"})

    async def stats(request: Request) -> Response:
        """Counts since the start: sessions, and what each kind counts."""
        access.owner(request)
        counts: dict[str, Any] = {"sessions": len(sessions)}
        for kind in kinds:
            counts |= kind.stats()
        return JsonResponse(counts)

    async def live(request: Request) -> Response:
        """The live page; what it shows takes a key."""
        return live_page(request.path_params.get("name", "index.html"))

    async def request_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestError)
        return error_response(error)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as running:
            for kind in kinds:
                await running.enter_async_context(kind.running())
            yield

    one = "/v1/sessions/{id}"
    app = Starlette(
        routes=[
            Route("/", live, methods=["GET"]),
            Route("/live/{name}", live, methods=["GET"]),
            Route("/health", health, methods=["GET"]),
            Route("/v1/stats", stats, methods=["GET"]),
            Route("/v1/sessions", leases.list, methods=["GET"]),
            Route("/v1/sessions", leases.lease, methods=["POST"]),
            Route("/v1/renewals", leases.renew_many, methods=["POST"]),
            Route(one, leases.inspect, methods=["GET"]),
            Route(one, leases.release, methods=["DELETE"]),
            Route(f"{one}/renew", leases.renew, methods=["POST"]),
            Route(f"{one}/call", calls.call, methods=["POST"]),
            Route(f"{one}/screenshot", calls.screenshot, methods=["GET"]),
            Route(f"{one}/events", calls.events, methods=["GET"]),
            Route(f"{one}/person", calls.person, methods=["POST"]),
            Route(f"{one}/recording", recordings.begin, methods=["POST"]),
            Route(f"{one}/recording", recordings.fetch, methods=["GET"]),
            Route(f"{one}/recording/calls", recordings.calls, methods=["GET"]),
            Route(f"{one}/recording/frames/{{number}}", recordings.frame, methods=["GET"]),
            WebSocketRoute(f"{one}/calls", calls.calls),
            *(route for kind in kinds for route in kind.routes(access)),
        ],
        exception_handlers={RequestError: request_error, HTTPException: http_error, Exception: internal_error},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    gateway = None
    for kind in kinds:
        if isinstance(kind.sessions, ComputerSessions):
            known: dict[str, SessionMount] = {
                "terminal": terminal_mount(config.assets), **_screen(config.assets), "code": code_mount(config.assets),
                "jupyter": JupyterMount, **(mounts or {}),
            }  # fmt: skip
            gateway = Gateway(kind.sessions, config, access, known)
    return ServiceLimits(app, config, gateway)


def live_page(name: str) -> Response:
    """A file of the live page. Raises HTTPException(404)."""
    if name != "index.html" and name not in SHOWN:
        raise HTTPException(404)
    headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache", "Referrer-Policy": "no-referrer"}
    return FileResponse(LIVE / name, media_type=SHOWN.get(name, "text/html"), headers=headers)


class SessionPaths(Protocol):
    """An application for what a session shows: paths below /s/ and hosts of sessions."""

    def takes(self, scope: Scope, host: str) -> bool: ...

    def owner_of(self, host: str) -> str | None: ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


def _screen(assets: Path | None) -> dict[str, SessionMount]:
    try:
        from tars_jax.sandbox.service.gateway.screen import screen_mount
    except InputError:  # the extra desktop is not installed: then there is no session with one either
        return {}
    return {"desktop": screen_mount(assets)}


class ServiceLimits:
    """An ASGI application around another one: foreign names, large and slow bodies stay outside."""

    def __init__(self, app: ASGIApp, config: ServiceConfig, gateway: SessionPaths | None) -> None:
        self._app, self._config, self._gateway = app, config, gateway

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
            return
        try:
            headers = dict(scope.get("headers", ()))
            host = _host(scope)
            own = self._gateway is not None and self._gateway.owner_of(host) is not None
            if not self._config.open_to_others and not own:
                require_local_name(host)
            if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD"):
                body = Body(receive, self._config.max_body_bytes, self._config.body_seconds, a_piece=False)
                body.require_small(headers.get(b"content-length"))
                receive = body.receive
            app = self._gateway if self._gateway is not None and self._gateway.takes(scope, host) else self._app
            await app(scope, receive, send)
        except RequestError as error:
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008, "reason": error.message[:100]})
                return
            await refuse(error, receive, send)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Start and end. What a user can mend about a failed start is told in a sentence, without a traceback."""

        async def shorter(message: Message) -> None:
            if message["type"] == "lifespan.startup.failed" and isinstance(error := sys.exception(), InputError):
                message = {**message, "message": str(error)}
            await send(message)

        with contextlib.suppress(InputError):
            await self._app(scope, receive, shorter)


def _host(scope: Scope) -> str:
    """Raises RequestError where there are two: programs differ in which of them counts."""
    hosts = [value for name, value in scope.get("headers", ()) if name == b"host"]
    if len(hosts) > 1:
        raise RequestError("Host must stand once in a request; got it more often", status=400)
    return hosts[0].decode("latin-1") if hosts else ""
