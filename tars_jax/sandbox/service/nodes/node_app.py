"""A node over HTTP: the sandbox service of this machine, for requests of a manager (delegation.py).

GET  /v1/node?owner=ann[&key=]  -> NodeStatus
POST /v1/node/drain             -> {"draining": true}
"""

from __future__ import annotations

import dataclasses
import json
import re
import urllib.parse
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tars_jax.sandbox.failures import QuotaExceeded
from tars_jax.sandbox.service.access import ASKED_BY
from tars_jax.sandbox.service.computers.sessions import MOST_FORKS
from tars_jax.sandbox.service.config import Owner
from tars_jax.sandbox.service.errors import ENDED, typed_errors
from tars_jax.sandbox.service.nodes.delegation import HEADER, read_owner
from tars_jax.sandbox.service.nodes.node import Node
from tars_jax.sandbox.service.nodes.proxy import again
from tars_jax.web.protocol import RequestError, RequestFields
from tars_jax.web.responses import JsonResponse, read_json, refuse

SESSION = re.compile(r"/(?:v1/sessions|s)/([^/]+)")
FORK = re.compile(r"/v1/sessions/[^/]+/fork")
FORK_WAIT_S = 1.0


class NodeApp:
    """An ASGI application around the service: only managers come in, and only to sessions that have been given."""

    def __init__(self, node: Node, service: ASGIApp, keys: Sequence[str]) -> None:
        self._node, self._service, self._keys = node, service, list(keys)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            owner = read_owner(scope["headers"], self._keys)
            self._require_given(scope)
            inside = {**scope, "headers": [each for each in scope["headers"] if each[0] != HEADER]}
            if owner is not None:
                inside[ASKED_BY] = Owner(owner, "")
            request = (scope.get("method"), scope["path"])
            if request == ("GET", "/v1/node"):
                asked = dict(urllib.parse.parse_qsl(scope["query_string"].decode("latin-1")))
                status = dataclasses.asdict(self._node.status(asked.get("owner", ""), asked.get("key")))
                await JsonResponse(status)(scope, receive, send)
            elif request == ("POST", "/v1/node/drain"):
                await self._node.drain()
                await JsonResponse({"draining": True})(scope, receive, send)
            elif scope.get("method") == "POST" and FORK.fullmatch(scope["path"]):
                with typed_errors():
                    response = await self._fork(inside, receive)
                await response(scope, receive, send)
            else:
                await self._service(inside, receive, send)
        except RequestError as error:
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008, "reason": error.message[:100]})
                return
            await refuse(error, receive, send)

    def _require_given(self, scope: Scope) -> None:
        """A session is named by its own id alone, however it is written."""
        raw = scope.get("raw_path", b"").decode("latin-1")
        named = {match.group(1) for path in (scope["path"], raw) if (match := SESSION.match(path))}
        if len(named) > 1 or not all(map(self._node.has_given, named)):
            raise RequestError(f"there is no session {min(named)[:80]!r}", status=404, code=ENDED)

    async def _fork(self, scope: Scope, receive: Receive) -> Response:
        """The service forks, in places that are taken before."""
        request = Request(scope, receive)
        body = await request.body()
        places = RequestFields(await read_json(request)).integer("count", 1, 1, MOST_FORKS) or 1
        try:
            await self._node.pools.take_places(places, FORK_WAIT_S)
        except QuotaExceeded as error:
            raise QuotaExceeded(f"{error}; forks are where the session is", own=False) from error
        sent: list[Message] = []
        opened: list[str] = []

        async def keep(message: Message) -> None:
            sent.append(message)

        try:
            await self._service(scope, again(body, receive), keep)
            answer: Any = b"".join(message.get("body", b"") for message in sent)
            if sent[0]["status"] == 201:
                opened = [each["id"] for each in json.loads(answer)["sessions"]]
                self._node.adopt(opened)
        finally:
            self._node.pools.give_places(places - len(opened))
        return Response(answer, sent[0]["status"], dict(_text(sent[0]["headers"])))


def _text(headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
