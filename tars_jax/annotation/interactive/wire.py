"""Common part of endpoints: bodies, errors of one sentence, and checks before an endpoint runs."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tars_jax.json_fields import Fields
from tars_jax.web.protocol import RequestError
from tars_jax.web.request_limits import Body, require_local_name
from tars_jax.web.responses import JsonResponse, read_json, refuse

MOST_BODY, BODY_S = 1 << 20, 30.0
HEADERS = {
    "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; frame-ancestors 'none'",
}  # fmt: skip


async def read_fields(request: Request, *, empty: bool = False) -> Fields:
    if empty and request.headers.get("content-length", "0") == "0" and not request.headers.get("transfer-encoding"):
        # A request without a body has no type that a foreign page could not send, so the cookie alone is not enough.
        typed = "application/json" in request.headers.get("content-type", "")
        if not typed and not request.headers.get("authorization"):
            raise RequestError("Content-Type must be application/json; got none", status=415)
        return Fields({})
    value = await read_json(request)
    if not isinstance(value, dict):
        raise RequestError("the body must be an object of JSON")
    return Fields(value)


def step_of(fields: Fields) -> int:
    step = fields.integer("step", None, 0, 10**9)
    if step is None:
        raise fields.error("step", "the number of the step that is decided")
    return step


def require_no_more(fields: Fields) -> None:
    if unknown := fields.unread():
        raise RequestError(f"{unknown[0][:80]!r} is no field that this service knows")


def answer(value: Any) -> Response:
    return JsonResponse(value, headers=HEADERS)


def error_answer(error: RequestError) -> Response:
    return JsonResponse({"error": error.message}, status_code=error.status, headers={**HEADERS, **error.headers})


async def refused(request: Request, error: Exception) -> Response:
    return error_answer(error if isinstance(error, RequestError) else RequestError(str(error)))


async def not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {404: f"there is no {request.url.path[:200]!r} here", 405: f"this path does not take {request.method[:20]}"}
    return error_answer(RequestError(words.get(error.status_code, error.detail), status=error.status_code))


async def internal_error(request: Request, error: Exception) -> Response:
    words = "an error of the service; its log says more"
    return error_answer(RequestError(words, status=500, headers={"Connection": "close"}))


class RequestGuard:
    """Names, sizes and times of requests, before anything else is looked at."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        try:
            require_local_name(headers.get(b"host", b"").decode("latin-1"))
            if scope["method"] not in ("GET", "HEAD"):
                body = Body(receive, MOST_BODY, BODY_S, a_piece=True)
                body.require_small(headers.get(b"content-length"))
                receive = body.receive
        except RequestError as error:
            await refuse(error, receive, send, error_answer)
            return
        await self._app(scope, receive, send)
