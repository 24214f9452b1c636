"""Checks before each API: the token, the names that a loopback server takes, the size and time of a body."""

from __future__ import annotations

import dataclasses
import hmac
from typing import Any

from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tars_jax import InputError
from tars_jax.web.credentials import password
from tars_jax.web.protocol import RequestError, RequestFields
from tars_jax.web.request_limits import Body, require_local_name
from tars_jax.web.responses import read_json, refuse

MOST_BODY = 64 << 20  # bytes
BODY_S = 30.0  # for each piece of a body


@dataclasses.dataclass(frozen=True)
class Gate:
    """Token and host names that a request must have. Raises InputError for a token that is too short to be one."""

    token: str = dataclasses.field(repr=False)
    only_local_names: bool = True  # the server is on loopback: a foreign Host is refused

    def __post_init__(self) -> None:
        if len(self.token) < 8 or not self.token.isascii() or not self.token.isprintable() or " " in self.token:
            raise InputError("token must be ASCII of 8 characters or more without spaces; got another")


class Guarded:
    """An ASGI application around another: whoever has no token hears nothing, and no body is larger than MOST_BODY.

    A token comes as `X-API-Key`, as `Authorization: Bearer`, or as the password of http://any:TOKEN@host, which every
    client takes. Without one the answer is `missing`, with a wrong one 401. Where `gate` is None, whoever passes the
    request on has let its client in.
    """

    def __init__(self, app: ASGIApp, gate: Gate | None, *, missing: int = 401) -> None:
        self._app, self._gate, self._missing = app, gate, missing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        try:
            if self._gate is not None and (wrong := self._refused(connection, self._gate)):
                if scope["type"] == "websocket":
                    await send({"type": "websocket.close", "code": 1008, "reason": bytes(wrong.body).decode()[:100]})
                else:
                    await wrong(scope, receive, send)
                return
            if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD"):
                body = Body(receive, MOST_BODY, BODY_S, a_piece=True)
                body.require_small(dict(scope["headers"]).get(b"content-length"))
                receive = body.receive
            await self._app(scope, receive, send)
        except RequestError as error:
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008, "reason": error.message[:100]})
            else:
                await refuse(error, receive, send)

    def _refused(self, connection: HTTPConnection, gate: Gate) -> JSONResponse | None:
        if gate.only_local_names:
            require_local_name(connection.headers.get("host", ""))
        given = given_token(connection)
        if given is None:
            words = "a token must be given: X-API-Key, Authorization: Bearer, or http://any:TOKEN@host; got none"
            return JSONResponse({"detail": words}, self._missing)
        if not hmac.compare_digest(given.encode(), gate.token.encode()):
            return JSONResponse({"detail": "the token must be that of this computer; got another"}, 401)
        return None


def given_token(connection: HTTPConnection) -> str | None:
    if key := connection.headers.get("x-api-key"):
        return key
    kind, _, given = connection.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return given.strip()
    if kind.lower() == "basic":
        return password(given)
    return None


async def read_fields(request: Request) -> RequestFields:
    """The object of a body; none at all is an empty one. Fields that nobody reads are those of other versions.

    Raises RequestError.
    """
    if request.headers.get("content-length", "0") == "0" and "transfer-encoding" not in request.headers:
        return RequestFields({})
    return RequestFields(await read_json(request))


def text_map(fields: RequestFields, name: str) -> dict[str, str] | None:
    """An object of texts, such as variables; None where there is none. Values that are null are left out."""
    value: Any = fields.value(name)
    if value is None:
        return None
    if not isinstance(value, dict) or not all(isinstance(each, str | None) for each in value.values()):
        raise fields.error(name, "an object of texts")
    return {key: each for key, each in value.items() if each is not None}
