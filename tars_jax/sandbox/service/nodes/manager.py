"""A manager of nodes: the sandbox service of many machines, over HTTP.

    python -m tars_jax.sandbox.service.nodes.manager FILE --key-file=KEY [--port=8710] [--owners=FILE]

    /v1/sessions, /s/ID/..., /              as of the service of one machine (front.py)
    GET  /v1/nodes                          -> {"nodes": [...]}
    POST /v1/nodes                          {id, address, seconds, status}              by a node that joins
    POST /v1/nodes/heartbeat                {id, fence, status, claims, over} -> {"ended": [...], "draining": false}
    POST /v1/nodes/ID/drain

and the paths of `leases/app.py`. FILE is a SQLite file, or redis://HOST:PORT/0, which several managers share. Who has
the key of KEY is the operator; other owners are named by a file {"ann": {"key": "...", "sessions": 8}}.
"""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tars_jax import InputError
from tars_jax.sandbox.service.config import OPERATOR, Owner, ServiceConfig, read_owners
from tars_jax.sandbox.service.leases import Leases
from tars_jax.sandbox.service.leases.__main__ import manager_parser, open_leases, run_manager
from tars_jax.sandbox.service.leases.app import LeaseApp
from tars_jax.sandbox.service.leases.lease import LEAST_SECONDS, MOST_SECONDS
from tars_jax.sandbox.service.nodes.answers import Admission, fence_of, fields_of, request_error, typed_errors
from tars_jax.sandbox.service.nodes.front import make_front
from tars_jax.sandbox.service.nodes.placement import Placement
from tars_jax.web.protocol import Fields, RequestError
from tars_jax.web.responses import JsonResponse, http_error, internal_error

NODES = "/v1/nodes"


def make_manager(leases: Leases, config: ServiceConfig, key: str) -> ASGIApp:
    """The application; it opens the leases when it starts. Nodes call it, and are called, with `key`."""
    placement = Placement(leases, key)
    routes = _Routes(placement)
    app = Starlette(
        routes=[
            Route(NODES, routes.nodes, methods=["GET"]),
            Route(NODES, routes.register, methods=["POST"]),
            Route(f"{NODES}/heartbeat", routes.heartbeat, methods=["POST"]),
            Route(f"{NODES}/{{id}}/drain", routes.drain, methods=["POST"]),
        ],
        exception_handlers={RequestError: request_error, HTTPException: http_error, Exception: internal_error},
    )
    app.router.redirect_slashes = False
    local = not config.open_to_others
    nodes, front = Admission(app, [key], local=local), make_front(placement, config, key)

    async def either(scope: Scope, receive: Receive, send: Send) -> None:
        app = nodes if scope["type"] == "http" and scope["path"].startswith(NODES) else front
        await app(scope, receive, send)

    return LeaseApp(leases, [key], local=local, others=either, on_stop=placement.close)


class _Routes:
    def __init__(self, placement: Placement) -> None:
        self._placement = placement

    async def nodes(self, request: Request) -> Response:
        with typed_errors():
            return JsonResponse({"nodes": await self._placement.nodes()})

    async def register(self, request: Request) -> Response:
        fields = await fields_of(request)
        id, address, seconds = fields.text("id"), fields.text("address"), _seconds(fields)
        status = fields.of_type("status", dict)
        fields.done()
        if seconds is None or not address.startswith("http://"):
            raise fields.error("address" if seconds else "seconds", "http://HOST:PORT" if seconds else "a number")
        with typed_errors():
            return JsonResponse(vars(await self._placement.register(id, address, seconds, _status(fields, status))))

    async def heartbeat(self, request: Request) -> Response:
        fields = await fields_of(request)
        id, fence = fields.text("id"), fence_of(fields)
        status = fields.of_type("status", dict)
        claims, over = fields.of_type("claims", dict), fields.of_type("over", dict)
        fields.done()
        if not all(type(value) is int for value in [*claims.values(), *over.values()]):
            raise fields.error("claims", "an object of fences, as over must be")
        with typed_errors():
            answer = await self._placement.heartbeat(id, fence, _status(fields, status), claims, over)
        return JsonResponse(answer)

    async def drain(self, request: Request) -> Response:
        with typed_errors():
            await self._placement.drain(request.path_params["id"])
        return JsonResponse({"draining": True})


def _status(fields: Fields, status: dict[str, Any]) -> dict[str, Any]:
    """Raises RequestError for what no node says of itself."""
    whole = all(type(status.get(name)) is int for name in ("free", "capacity"))
    ready, kinds = status.get("ready"), status.get("kinds")
    counts = isinstance(ready, dict) and all(type(count) is int for count in ready.values())
    if not (whole and counts and isinstance(kinds, list) and all(isinstance(kind, str) for kind in kinds)):
        raise fields.error("status", "{name, capacity, free, ready: {key: count}, kinds: [...]}")
    return status


def _seconds(fields: Fields) -> float | None:
    seconds = fields.number("seconds", -1.0, LEAST_SECONDS, MOST_SECONDS)
    return None if seconds < 0 else seconds


def main(arguments: list[str]) -> None:
    parser = manager_parser(__doc__)
    parser.add_argument("--owners", type=Path)
    parser.add_argument("--preview-domain", default="localhost")

    def make(given: argparse.Namespace, key: str) -> ASGIApp:
        owners = (Owner(OPERATOR, key), *(read_owners(given.owners) if given.owners else ()))
        if counted := [owner.name for owner in owners if any(owner.quotas.values())]:
            raise InputError(f"--owners must give quotas of sessions alone to a manager of nodes; got {counted[0]}")
        config = ServiceConfig(owners, given.host, given.port, preview_domain=given.preview_domain)
        return make_manager(open_leases(given.where), config, key)

    run_manager(parser.parse_args(arguments), make, sockets=True)


if __name__ == "__main__":
    logging.basicConfig(format="manager: %(message)s")
    main(sys.argv[1:])
