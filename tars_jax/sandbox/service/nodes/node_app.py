"""A node over HTTP: its manager binds sessions to sandboxes, and whoever has claimed one runs programs in it.

POST /v1/node/bind         {id, fence, spec, deadline_s} -> the node's status; 429 "busy"; 410 "ended"
POST /v1/node/end          {id, fence}                   -> the node's status
GET  /v1/node                                            -> status and sessions
POST /v1/sessions/ID/run   {fence, argv, stdin?, timeout_s?} -> {status, stdout, stderr, timed_out}; bytes as base64
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from tars_jax.sandbox.service.nodes.answers import Admission, fence_of, fields_of, request_error, typed_errors
from tars_jax.sandbox.service.nodes.node import Node
from tars_jax.web.protocol import Fields, RequestError
from tars_jax.web.responses import JsonResponse, http_error, internal_error


def make_node(node: Node, keys: Sequence[str], *, local: bool) -> ASGIApp:
    """The application over a node that was entered."""
    routes = _Routes(node)
    app = Starlette(
        routes=[
            Route("/v1/node", routes.status, methods=["GET"]),
            Route("/v1/node/bind", routes.bind, methods=["POST"]),
            Route("/v1/node/end", routes.end, methods=["POST"]),
            Route("/v1/sessions/{id}/run", routes.run, methods=["POST"]),
        ],
        exception_handlers={RequestError: request_error, HTTPException: http_error, Exception: internal_error},
    )
    app.router.redirect_slashes = False
    return Admission(app, keys, local=local)


class _Routes:
    def __init__(self, node: Node) -> None:
        self._node = node

    async def status(self, request: Request) -> Response:
        return JsonResponse({**self._node.status(), "id": self._node.id, "sessions": self._node.sessions()})

    async def bind(self, request: Request) -> Response:
        fields = await fields_of(request)
        id, fence, spec = fields.text("id"), fence_of(fields), fields.text("spec")
        deadline_s = fields.number("deadline_s", 0.0, 0.0, 600.0)
        fields.done()
        with typed_errors():
            await self._node.bind(id, fence, spec, deadline_s)
        return JsonResponse(self._node.status())

    async def end(self, request: Request) -> Response:
        fields = await fields_of(request)
        id, fence = fields.text("id"), fence_of(fields)
        fields.done()
        self._node.end(id, fence)
        return JsonResponse(self._node.status())

    async def run(self, request: Request) -> Response:
        fields = await fields_of(request)
        fence, argv = fence_of(fields), fields.array("argv", required=True)
        stdin = _bytes(fields, "stdin")
        timeout_s = fields.number("timeout_s", 60.0, 0.01, 3600.0)
        fields.done()
        if not argv or not all(isinstance(word, str) and "\0" not in word for word in argv):
            raise fields.error("argv", "an array of texts, the program first")
        with typed_errors():
            sandbox = await self._node.sandbox(request.path_params["id"], fence)
            ran = await sandbox.run(argv, stdin, timeout_s)
        said = {
            name: base64.b64encode(value).decode() for name, value in (("stdout", ran.stdout), ("stderr", ran.stderr))
        }
        return JsonResponse({"status": ran.status, **said, "timed_out": ran.timed_out})


def _bytes(fields: Fields, name: str) -> bytes:
    try:
        return base64.b64decode(fields.text(name, ""), validate=True)
    except (binascii.Error, ValueError) as error:
        raise fields.error(name, "base64") from error
