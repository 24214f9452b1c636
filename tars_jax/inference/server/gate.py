"""The door: everything that is decided before an endpoint runs, and what happens when its client goes away.

Keys, the number of requests under way, the size of bodies and the time that they may take. While an endpoint computes,
the door listens: a client that disconnects cancels its request, streamed or not, so that its slot is free at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tars_jax.inference.protocol import RequestError, busy
from tars_jax.inference.server.config import ServerConfig, is_loopback
from tars_jax.inference.server.metrics import HttpMetrics
from tars_jax.inference.server.responses import error_response

OPEN_PATHS = ("/health",)  # a load balancer has no key
UNLIMITED_PATHS = ("/health", "/metrics")  # whoever watches a busy server gets an answer
WEIGHTS_PATH = "/v1/rl/weights"


class Gate:
    """An ASGI application around another one."""

    def __init__(self, app: ASGIApp, config: ServerConfig, metrics: HttpMetrics) -> None:
        self._app, self._config, self._metrics = app, config, metrics

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

        self._metrics.active += 1
        try:
            self._admit(scope)
            if not await self._run(scope, receive, watched_send):
                status = 499  # as nginx counts clients that left
        except RequestError as error:
            error.headers["Connection"] = "close"  # the body may not have been read
            await error_response(error)(scope, receive, watched_send)
        finally:
            self._metrics.active -= 1
            self._metrics.count(scope, status, time.perf_counter() - began)

    def _admit(self, scope: Scope) -> None:
        config, path, headers = self._config, scope["path"], dict(scope["headers"])
        if is_loopback(config.host):
            _require_local_name(headers.get(b"host", b"").decode("latin-1"))
        if config.api_key and path not in OPEN_PATHS:
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given.lower()[:7] + given[7:], b"bearer " + config.api_key.encode()):
                raise RequestError(
                    "the API key is missing or wrong; it takes the header Authorization: Bearer KEY",
                    status=401,
                    code="invalid_api_key",
                    headers={"WWW-Authenticate": "Bearer"},
                )
        if self._metrics.active > config.max_requests and path not in UNLIMITED_PATHS:
            raise busy(f"{config.max_requests} requests are under way; come again")

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Runs the endpoint to its end; False when the client left before it."""
        weights = scope["path"] == WEIGHTS_PATH and scope["method"] == "PUT"
        limit = self._config.max_weight_bytes if weights else self._config.max_body_bytes
        body = _Body(receive, limit, self._config.body_seconds, a_piece=weights)
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


class _Body:
    """A request's body on its way in, counted and timed."""

    def __init__(self, receive: Receive, limit: int, seconds: float, *, a_piece: bool) -> None:
        self._receive, self._limit, self._seconds, self._a_piece = receive, limit, seconds, a_piece
        self._deadline = asyncio.get_running_loop().time() + seconds
        self._size = 0
        self._complete = asyncio.Event()

    def require_small(self, content_length: bytes | None) -> None:
        if content_length is not None and content_length.isdigit() and int(content_length[:20]) > self._limit:
            raise self._too_large()

    async def receive(self) -> Message:
        if self._a_piece:
            self._deadline = asyncio.get_running_loop().time() + self._seconds
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError as error:
            raise RequestError(
                f"the body has not come within {self._seconds:g} seconds", status=408, code="body_timeout"
            ) from error
        if message["type"] == "http.request":
            self._size += len(message.get("body", b""))
            if self._size > self._limit:
                raise self._too_large()
            if not message.get("more_body", False):
                self._complete.set()
        return message

    async def disconnected(self) -> None:
        """Returns when the client has left, but not before the body is complete: until then the endpoint listens."""
        await self._complete.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def _too_large(self) -> RequestError:
        return RequestError(
            f"the body is larger than {self._limit} bytes, which is the most that is taken here",
            status=413,
            code="body_too_large",
        )


def _require_local_name(host: str) -> None:
    """A page whose name was bent to 127.0.0.1 (DNS rebinding) still sends its own name."""
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    name = name.strip("[]")
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(name)
        return
    if name not in ("", "localhost"):
        raise RequestError(f"Host is {name!r}; a server on loopback takes localhost or an address", status=400)
