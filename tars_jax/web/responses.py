"""The three kinds of response: JSON, an error, a stream of events."""

from __future__ import annotations

import asyncio
import contextlib
import http
from collections.abc import AsyncGenerator, Callable
from typing import Any, Self

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tars_jax.web.protocol import INTERNAL_ERROR, RequestError, from_json, to_json

LONG = 1 << 20  # bytes; more are read in a thread, so that they hold nobody up
LINGER_BYTES, LINGER_SECONDS = 1 << 28, 5.0  # of a body whose request has been refused


class JsonResponse(Response):
    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return to_json(content)


def error_response(error: RequestError) -> Response:
    return JsonResponse(error.body(), status_code=error.status, headers=error.headers)


def request_error(request: Request, error: HTTPException) -> RequestError:
    """Turns a router's error into one in our words unless it has some: no such path, or not this method."""
    path = request.url.path[:200]
    words = {404: f"there is no {path!r} here", 405: f"{path!r} does not take {request.method[:20]!r}"}
    said = error.detail if error.detail != http.HTTPStatus(error.status_code).phrase else ""
    return RequestError(
        said or words.get(error.status_code, error.detail), status=error.status_code, headers=error.headers
    )


async def http_error(request: Request, error: Exception) -> Response:
    """Handles a router's error."""
    assert isinstance(error, HTTPException)
    return error_response(request_error(request, error))


async def internal_error(request: Request, error: Exception) -> Response:
    """Handles a defect of the server. Its traceback goes to the log, not to the client."""
    words = "an error of the server; its log says more"
    # uvicorn closes the connection of a request that ended in an exception; a client must not ask on it again.
    return error_response(RequestError(words, status=500, code=INTERNAL_ERROR, headers={"Connection": "close"}))


async def refuse(
    error: RequestError,
    receive: Receive,
    send: Send,
    form: Callable[[RequestError], Response] = error_response,
) -> None:
    """Answers a request whose body may not have been read, in this form of errors, and ends its connection.

    The rest of the body is read and forgotten for a while: a client that writes all of it before it reads would find
    its connection reset, and not the answer.
    """
    error.headers["Connection"] = "close"
    response = form(error)
    await send({"type": "http.response.start", "status": error.status, "headers": response.raw_headers})
    await send({"type": "http.response.body", "body": response.body, "more_body": True})
    left = 0 if error.status == 408 else LINGER_BYTES  # whoever was too slow has been waited for
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LINGER_SECONDS):
            while left > 0 and (message := await receive())["type"] == "http.request" and message.get("more_body"):
                left -= len(message.get("body", b""))
    await send({"type": "http.response.body", "body": b"", "more_body": False})


class EventStream(Response):
    """Server-sent events: each item is one event's data; the last one is [DONE].

    Made by `begin`, once the first item is there: what goes wrong before it can still be a status.
    The response has begun when the items do: an error among them becomes an event, and [DONE] does not come.
    """

    media_type = "text/event-stream"

    @classmethod
    async def begin(cls, items: AsyncGenerator[Any, None]) -> Self:
        return cls(await anext(items), items)

    def __init__(self, first: Any, items: AsyncGenerator[Any, None]) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._first, self._items = first, items

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def event(data: bytes) -> None:
            await send({"type": "http.response.body", "body": b"data: " + data + b"\n\n", "more_body": True})

        async with contextlib.aclosing(self._items):
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            try:
                await event(to_json(self._first))
                async for item in self._items:
                    await event(to_json(item))
                await event(b"[DONE]")
            except RequestError as error:
                await event(to_json(error.body()))
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def read_json(request: Request) -> Any:
    """The body's JSON. Raises RequestError; 415 for another type, which a foreign web page could send unasked, and for
    a packed body, which could be a bomb.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RequestError(
            f"Content-Type must be application/json; got {kind or 'missing'!r}", status=415, code="content_type"
        )
    packed = request.headers.get("content-encoding", "identity").strip().lower()
    if packed != "identity":
        raise RequestError(
            f"Content-Encoding must be identity; got {packed!r}",
            status=415,
            code="content_encoding",
            headers={"Accept-Encoding": "identity"},
        )
    try:
        body = await request.body()
    except ClientDisconnect as error:
        raise RequestError("the client left before its body was complete", status=499) from error
    return from_json(body) if len(body) < LONG else await asyncio.to_thread(from_json, body)
