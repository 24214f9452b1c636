"""Leases over HTTP, as an ASGI application that does nothing else and so is quick; other paths are another's.

    POST /v1/leases/claim    {id, holder, seconds, place?, once?, data?} -> a lease; 409 "held"; 410 "ended"
    POST /v1/leases/renew    {id, fence, seconds?, data?}                -> a lease; 410 "ended"
    POST /v1/leases/release  {id, fence}                                 -> {"released": true}; false: it had ended
    GET  /v1/leases/ID                                                   -> a lease; 410 "ended"
    GET  /v1/leases?prefix=...                                           -> {"leases": [...]}
    GET  /health

A lease is {id, holder, place, fence, seconds, left_s, data}. All but /health take the header Authorization: Bearer KEY.
"""

from __future__ import annotations

import hmac
import urllib.parse
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from tars_jax import InputError
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.leases.lease import LEAST_SECONDS, LONGEST, MOST_SECONDS, Lease, LeaseEnded, LeaseHeld
from tars_jax.sandbox.service.leases.store import Leases
from tars_jax.web.protocol import Fields, RequestError, from_json, to_json
from tars_jax.web.request_limits import Body, require_local_name
from tars_jax.web.responses import refuse

HELD, ENDED, FAILURE = "held", "ended", "sandbox_failure"
PREFIX = "/v1/leases"
MOST_BYTES, BODY_SECONDS = 1 << 16, 30.0
MOST_FENCE = 1 << 62


class LeaseApp:
    """Raises nothing: what is wrong with a request is its answer."""

    def __init__(
        self, leases: Leases, keys: Sequence[str], *, local: bool, others: ASGIApp | None = None,
        on_stop: Callable[[], Awaitable[None]] | None = None,
    ) -> None:  # fmt: skip
        """`local`: it listens on loopback, so no foreign name leads to it. `others` has its own checks."""
        self._leases, self._others, self._local, self._on_stop = leases, others, local, on_stop
        self._local_names: set[bytes] = set()
        self._keys = [b"Bearer " + key.encode() for key in keys]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
            return
        path: str = scope["path"]
        if scope["type"] != "http" or not (path.startswith(PREFIX) or path == "/health"):
            if self._others is not None:
                await self._others(scope, receive, send)
            elif scope["type"] == "http":
                await refuse(RequestError(f"there is no {path[:200]!r} here", status=404), receive, send)
            else:
                await send({"type": "websocket.close", "code": 1008})
            return
        try:
            headers = dict(scope["headers"])
            if self._local:
                self._require_local(headers.get(b"host", b""))
            if path == "/health":
                answer: Any = {"status": "ok"}
            else:
                self._admit(headers.get(b"authorization", b""))
                answer = await self._answer(scope["method"], path.removeprefix(PREFIX), scope, headers, receive)
        except RequestError as error:
            if scope["method"] == "POST" and error.status in (401, 400, 413, 415, 408):
                await refuse(error, receive, send)  # its body may not have been read
            else:
                await _respond(send, error.status, to_json(error.body()), error.headers)
            return
        await _respond(send, 200, to_json(answer))

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Opens the leases with the application, and closes them after it."""
        await receive()
        try:
            await self._leases.__aenter__()
        except InputError as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        if self._on_stop is not None:
            await self._on_stop()
        await self._leases.__aexit__()
        await send({"type": "lifespan.shutdown.complete"})

    def _require_local(self, host: bytes) -> None:
        """Looks at a name once."""
        if host not in self._local_names:
            require_local_name(host.decode("latin-1"))
            if len(self._local_names) < 64:
                self._local_names.add(host)

    def _admit(self, given: bytes) -> None:
        if not any([hmac.compare_digest(key, given) for key in self._keys]):
            words = "the header Authorization must be Bearer KEY; got no key, or a wrong one"
            headers = {"WWW-Authenticate": "Bearer"}
            raise RequestError(words, status=401, code="invalid_api_key", headers=headers)

    async def _answer(
        self, method: str, rest: str, scope: Scope, headers: dict[bytes, bytes], receive: Receive
    ) -> dict[str, Any]:
        name = rest.removeprefix("/")
        posted = rest in ("/claim", "/renew", "/release") and method == "POST"
        try:
            if posted:
                return await self._change(name, Fields(await _json(headers, receive)))
            if method != "GET":
                raise RequestError(f"{PREFIX}{rest} does not take {method[:20]!r}", status=405)
            if not name:
                asked = urllib.parse.parse_qs(scope["query_string"].decode("latin-1"))
                found = await self._leases.list(asked.get("prefix", [""])[0])
                return {"leases": [vars(lease) for lease in found]}
            return vars(await self._leases.look_up(name))
        except InputError as error:
            raise RequestError(str(error), str(error).partition(" ")[0]) from error
        except LeaseHeld as error:
            raise RequestError(str(error), str(error.left_s), status=409, code=HELD) from error
        except LeaseEnded as error:
            raise RequestError(str(error), error.why, status=410, code=ENDED) from error
        except SandboxFailure as failure:
            raise RequestError(str(failure), failure.kind, status=507, code=FAILURE) from failure

    async def _change(self, name: str, fields: Fields) -> dict[str, Any]:
        id = fields.text("id")
        if name == "claim":
            seconds = fields.number("seconds", -1.0, LEAST_SECONDS, MOST_SECONDS)
            words = {each: fields.optional_text(each, LONGEST[each]) or "" for each in ("place", "once", "data")}
            holder = fields.text("holder")
            fields.done()
            if seconds < 0:
                raise fields.error("seconds", f"a number from {LEAST_SECONDS:g} to {MOST_SECONDS:g}")
            return _plain(await self._leases.claim(id, holder, seconds, **words))
        fence = fields.integer("fence", None, 0, MOST_FENCE)
        if fence is None:
            raise fields.error("fence", "a whole number")
        if name == "release":
            fields.done()
            return {"released": await self._leases.release(id, fence)}
        length = fields.number("seconds", -1.0, LEAST_SECONDS, MOST_SECONDS)
        data = fields.optional_text("data", LONGEST["data"])
        fields.done()
        return _plain(await self._leases.renew(id, fence, length if length >= 0 else None, data))


def _plain(lease: Lease) -> dict[str, Any]:
    return vars(lease)


async def _json(headers: dict[bytes, bytes], receive: Receive) -> Any:
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind != b"application/json":
        words = f"Content-Type must be application/json; got {kind.decode('latin-1') or 'missing'!r}"
        raise RequestError(words, status=415, code="content_type")
    body = Body(receive, MOST_BYTES, BODY_SECONDS, a_piece=False)
    body.require_small(headers.get(b"content-length"))
    pieces, more = [], True
    while more:
        message = await body.receive()
        if message["type"] == "http.disconnect":
            raise RequestError("the client left before its body was complete", status=499)
        pieces.append(message.get("body", b""))
        more = message.get("more_body", False)
    return from_json(b"".join(pieces))


async def _respond(send: Send, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
    pairs = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    pairs += [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
