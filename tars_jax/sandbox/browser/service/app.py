"""The browser service as an ASGI application: which path leads where, and what admits requests to all of them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tars_jax import InputError
from tars_jax.sandbox.browser.service.access import Access
from tars_jax.sandbox.browser.service.config import PACKAGE, ServiceConfig
from tars_jax.sandbox.browser.service.debugging import Debugging
from tars_jax.sandbox.browser.service.page_routes import PageRoutes
from tars_jax.sandbox.browser.service.session_routes import SessionRoutes
from tars_jax.sandbox.browser.sessions import Sessions
from tars_jax.web.protocol import RequestError
from tars_jax.web.request_limits import Body, require_local_name
from tars_jax.web.responses import JsonResponse, error_response, http_error, internal_error, refuse

LIVE = PACKAGE / "sandbox" / "browser" / "service" / "live"
SHOWN = {"live.js": "text/javascript", "live.css": "text/css", "input.js": "text/javascript"}
# The live page shows screenshots of pages that it does not trust: it runs its own code and nothing else.
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'"


def make_app(config: ServiceConfig, sessions: Sessions) -> ASGIApp:
    """The application. It starts the manager and the sessions, and ends them when the server stops."""
    access = Access(sessions, config)
    leases, pages, debugging = SessionRoutes(sessions, config, access), PageRoutes(config, access), Debugging(access)

    async def health(request: Request) -> Response:
        return JsonResponse({"status": "ok"})

    async def stats(request: Request) -> Response:
        """Counts since the start: browsers, pages, failures, sessions."""
        access.owner(request)
        counts = {"sessions": len(sessions), "adopted": sessions.adopted, "collected": sessions.collected}
        return JsonResponse({**counts, "reaped": sessions.reaped, "browsers": sessions.manager.stats.to_json()})

    async def live(request: Request) -> Response:
        """The live page; what it shows takes a key."""
        name = request.path_params.get("name", "index.html")
        if name != "index.html" and name not in SHOWN:
            raise HTTPException(404)
        headers = {"Content-Security-Policy": POLICY, "Cache-Control": "no-cache", "Referrer-Policy": "no-referrer"}
        return FileResponse(LIVE / name, media_type=SHOWN.get(name, "text/html"), headers=headers)

    async def request_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestError)
        return error_response(error)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with sessions.manager, sessions:
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
            Route(one, leases.inspect, methods=["GET"]),
            Route(one, leases.release, methods=["DELETE"]),
            Route(f"{one}/renew", leases.renew, methods=["POST"]),
            Route(f"{one}/checkpoint", leases.checkpoint, methods=["GET"]),
            Route(f"{one}/recording", leases.record, methods=["POST"]),
            Route(f"{one}/recording", leases.recording, methods=["GET"]),
            Route(f"{one}/downloads", pages.downloads, methods=["GET"]),
            Route(f"{one}/downloads/{{number}}", pages.download, methods=["GET"]),
            Route(f"{one}/call", pages.call, methods=["POST"]),
            Route(f"{one}/screenshot", pages.screenshot, methods=["GET"]),
            Route(f"{one}/events", pages.events, methods=["GET"]),
            Route(f"{one}/person", pages.person, methods=["POST"]),
            WebSocketRoute(f"{one}/cdp", debugging.connect),
        ],
        exception_handlers={RequestError: request_error, HTTPException: http_error, Exception: internal_error},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return _Admission(app, config)


class _Admission:
    """An ASGI application around another one: foreign names, large and slow bodies stay outside."""

    def __init__(self, app: ASGIApp, config: ServiceConfig) -> None:
        self._app, self._config = app, config

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
            return
        try:
            headers = dict(scope.get("headers", ()))
            if not self._config.open_to_others:
                require_local_name(headers.get(b"host", b"").decode("latin-1"))
            if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD"):
                body = Body(receive, self._config.max_body_bytes, self._config.body_seconds, a_piece=False)
                body.require_small(headers.get(b"content-length"))
                receive = body.receive
            await self._app(scope, receive, send)
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
