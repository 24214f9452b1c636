"""A node over HTTP: a manager binds claims to sessions, and passes on what clients ask of those.

POST /v1/node/bind   {id, fence, spec, owner, seconds, deadline_s} -> {status, session}; 429 "busy"; 410 "ended"
POST /v1/node/end    {id, fence}                                   -> {status}
GET  /v1/node                                                      -> status and claims
all else             the sandbox service of this machine, for requests of a manager (`behalf.py`)
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tars_jax.sandbox.failures import QuotaExceeded
from tars_jax.sandbox.service.access import ASKED_BY
from tars_jax.sandbox.service.config import Owner
from tars_jax.sandbox.service.errors import ENDED
from tars_jax.sandbox.service.errors import typed_errors as service_errors
from tars_jax.sandbox.service.leases.lease import MOST_SECONDS
from tars_jax.sandbox.service.nodes.answers import Admission, fence_of, fields_of, request_error, typed_errors
from tars_jax.sandbox.service.nodes.behalf import HEADER, Behalf, read_behalf
from tars_jax.sandbox.service.nodes.node import Node
from tars_jax.sandbox.service.nodes.sandboxes import Spec
from tars_jax.web.protocol import RequestError
from tars_jax.web.responses import JsonResponse, http_error, internal_error, refuse

OWN = ("/v1/node", "/v1/node/bind", "/v1/node/end")
SESSION = re.compile(r"/(?:v1/sessions|s)/([^/]+)")
FORK = re.compile(r"/v1/sessions/[^/]+/fork")
MOST_BYTES = 64 << 20  # of a spec: a page's checkpoint has its journal in it
FORK_WAIT_S = 1.0


def make_node(node: Node, service: ASGIApp, keys: Sequence[str], *, local: bool) -> ASGIApp:
    """The application over a node that was entered and the service whose sessions it has."""
    routes = _Routes(node)
    app = Starlette(
        routes=[
            Route("/v1/node", routes.status, methods=["GET"]),
            Route("/v1/node/bind", routes.bind, methods=["POST"]),
            Route("/v1/node/end", routes.end, methods=["POST"]),
        ],
        exception_handlers={RequestError: request_error, HTTPException: http_error, Exception: internal_error},
    )
    app.router.redirect_slashes = False
    own = Admission(app, keys, local=local, most_bytes=MOST_BYTES)
    inner = _OnBehalf(node, service, keys)

    async def either(scope: Scope, receive: Receive, send: Send) -> None:
        app = own if scope["type"] == "http" and scope["path"] in OWN else inner
        await app(scope, receive, send)

    return either


class _OnBehalf:
    """An ASGI application around the service: only managers come in, and only to sessions of claims that they name."""

    def __init__(self, node: Node, service: ASGIApp, keys: Sequence[str]) -> None:
        self._node, self._service, self._keys = node, service, list(keys)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            behalf = read_behalf(scope["headers"], self._keys)
            self._require_claim(scope, behalf)
            headers = [each for each in scope["headers"] if each[0] != HEADER]
            inside = {**scope, "headers": headers}
            if behalf.owner is not None:
                inside[ASKED_BY] = Owner(behalf.owner, "")
            if scope["type"] == "http" and scope["method"] == "POST" and FORK.fullmatch(scope["path"]):
                with service_errors():
                    await self._fork(inside, receive, send, behalf)
            else:
                await self._service(inside, receive, send)
        except RequestError as error:
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008, "reason": error.message[:100]})
                return
            await refuse(error, receive, send)

    def _require_claim(self, scope: Scope, behalf: Behalf) -> None:
        """A session is named by its own id alone, however it is written, and by the claim that it was given to."""
        raw = scope.get("raw_path", b"").decode("latin-1")
        named = {match.group(1) for path in (scope["path"], raw) if (match := SESSION.match(path))}
        if not named and scope["path"] == "/v1/sessions" and scope.get("method") == "POST":
            raise RequestError("sessions of a node are claimed from its manager", status=405)
        if len(named) > 1 or any(not self._node.serves(behalf.claim, behalf.fence, session) for session in named):
            words = f"this node has no session {min(named)[:80]!r} of that claim"
            raise RequestError(words, status=404, code=ENDED)

    async def _fork(self, scope: Scope, receive: Receive, send: Send, behalf: Behalf) -> None:
        """The service forks; places are taken before, and claims bound behind it, as the manager has named them."""
        places = len(behalf.forks)
        try:
            await self._node.pools.take_places(places, FORK_WAIT_S)
        except QuotaExceeded as error:
            raise QuotaExceeded(f"{error}; forks are where the session is", own=False) from error
        sent: list[Message] = []

        async def keep(message: Message) -> None:
            sent.append(message)

        try:
            await self._service(scope, receive, keep)
            answer: Any = json.loads(b"".join(message.get("body", b"") for message in sent))
            opened = [(each["id"], each["token"]) for each in answer["sessions"]]
            self._node.adopt(behalf.forks, opened)
        except (ValueError, KeyError, TypeError):  # it was refused
            self._node.pools.give_places(places)
        except BaseException:
            self._node.pools.give_places(places)
            raise
        for message in sent:
            await send(message)


class _Routes:
    def __init__(self, node: Node) -> None:
        self._node = node

    async def status(self, request: Request) -> Response:
        return JsonResponse({**self._node.status(), "id": self._node.id, "claims": self._node.claims()})

    async def bind(self, request: Request) -> Response:
        fields = await fields_of(request)
        id, fence, spec, owner = fields.text("id"), fence_of(fields), fields.text("spec"), fields.text("owner")
        seconds, deadline_s = (
            fields.number("seconds", 60.0, 0.1, MOST_SECONDS),
            fields.number("deadline_s", 0.0, 0.0, 600.0),
        )
        fields.done()
        with typed_errors():
            given = await self._node.bind(id, fence, Spec(spec), owner, seconds, deadline_s)
        return JsonResponse({"status": self._node.status(), "session": given.to_json()})

    async def end(self, request: Request) -> Response:
        fields = await fields_of(request)
        id, fence = fields.text("id"), fence_of(fields)
        fields.done()
        self._node.end(id, fence)
        return JsonResponse({"status": self._node.status()})
