"""Admission of requests: what is decided before an endpoint runs, and what happens when its client goes away.

Keys, `max_requests` in flight, the size of bodies and the time that they may take. While an endpoint computes,
the client is listened to: one that disconnects cancels its request, streamed or not, so that its slot is free at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import time
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tars_jax.inference.config import ServerConfig
from tars_jax.inference.server.metrics import HttpMetrics
from tars_jax.web.protocol import RequestError, busy
from tars_jax.web.request_limits import Body, is_loopback, require_local_name
from tars_jax.web.responses import refuse

OPEN_PATHS = ("/health",)  # a load balancer has no key
UNLIMITED_PATHS = ("/health", "/metrics")  # whoever watches a busy server gets an answer
REWARD_PATH = "/v1/rl/reward"
EPISODE_PATHS = ("/v1/chat/completions", "/v1/models", "/v1/responses", REWARD_PATH)  # what the key of an episode opens
WEIGHTS_PATH = "/v1/rl/weights"


class RequestAdmission:
    """Admission of requests, as an ASGI application around another one."""

    def __init__(
        self, app: ASGIApp, config: ServerConfig, metrics: HttpMetrics, has_key: Callable[[str], bool]
    ) -> None:
        """`has_key`: whether a key is that of an episode, which may ask for answers and nothing else."""
        self._app, self._config, self._metrics, self._has_key = app, config, metrics, has_key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def watched_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            self._metrics.active += 1
            try:
                self._authorize(scope)
                self._limit_in_flight(scope)
                if not await self._run(scope, receive, watched_send):
                    status = 499  # as nginx counts clients that left
            finally:
                self._metrics.active -= 1
        except RequestError as error:
            await refuse(error, receive, watched_send)
        finally:
            self._metrics.count(scope, status, time.perf_counter() - began)

    def _authorize(self, scope: Scope) -> None:
        config, path, headers = self._config, scope["path"], dict(scope["headers"])
        if is_loopback(config.host):
            require_local_name(headers.get(b"host", b"").decode("latin-1"))
        if config.api_key and path not in OPEN_PATHS:
            given = headers.get(b"authorization", b"")
            own = hmac.compare_digest(given.lower()[:7] + given[7:], b"bearer " + config.api_key.encode())
            if not own and not (path.startswith(EPISODE_PATHS) and self._has_key(given[7:].decode("latin-1"))):
                raise RequestError(
                    "the header Authorization must be Bearer KEY; got no key, or a wrong one",
                    status=401,
                    code="invalid_api_key",
                    headers={"WWW-Authenticate": "Bearer"},
                )

    def _limit_in_flight(self, scope: Scope) -> None:
        """Raises RequestError(429) where `max_requests` are in flight already."""
        if self._metrics.active > self._config.max_requests and scope["path"] not in UNLIMITED_PATHS:
            raise busy(f"{self._config.max_requests} requests are under way; come again")

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Runs the endpoint to its end; False when the client left before it."""
        weights = scope["path"] == WEIGHTS_PATH and scope["method"] == "PUT"
        limit = self._config.max_weight_bytes if weights else self._config.max_body_bytes
        body = Body(receive, limit, self._config.body_seconds, a_piece=weights)
        body.require_small(dict(scope["headers"]).get(b"content-length"))
        handler = asyncio.ensure_future(self._app(scope, body.receive, send))
        listener = asyncio.create_task(body.disconnected())
        try:
            await asyncio.wait({handler, listener}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            listener.cancel()
            left = not handler.done()
            if left:
                handler.cancel()
                await asyncio.wait({handler})
        if left:
            with contextlib.suppress(asyncio.CancelledError):
                handler.result()
            return False
        handler.result()
        return True
