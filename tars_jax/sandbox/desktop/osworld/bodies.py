"""Bodies of requests to OSWorld's guest server, and its answers to wrong ones."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tars_jax import InputError
from tars_jax.web.forms import read_form

MOST_BODY = 256 << 20  # bytes


def refusal(message: str, status: int) -> Response:
    return JSONResponse({"status": "error", "message": message, "error": message}, status_code=status)


def text_of(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise InputError(f"{name} must be a text; got {str(value)[:80]!r}")
    return value


async def _whole(request: Request) -> bytes:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BODY:
            raise InputError(f"the body must have at most {MOST_BODY} bytes")
    return bytes(body)


async def form_of(request: Request) -> dict[str, bytes]:
    return await asyncio.to_thread(read_form, request.headers.get("content-type", ""), await _whole(request))


async def object_of(request: Request) -> dict[str, Any]:
    try:
        value = json.loads(await _whole(request))
    except ValueError as error:
        raise InputError("the body must be JSON") from error
    if not isinstance(value, dict):
        raise InputError(f"the body must be an object; got {str(value)[:80]!r}")
    return value
