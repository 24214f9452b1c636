"""A manager: leases, nodes and claims of sandboxes over HTTP.

    python -m tars_jax.sandbox.service.nodes.manager FILE --key-file=KEY [--port=8710]

    POST /v1/sandboxes               {spec, holder, seconds, deadline_s, once} -> a lease with the address of its node
    GET  /v1/sandboxes/ID                                          -> the same; 410 "ended"; 502 "node": that has died
    POST /v1/sandboxes/ID/renew      {fence, seconds?}
    POST /v1/sandboxes/ID/release    {fence}                       -> {"released": true}
    GET  /v1/nodes                                                 -> {"nodes": [...]}
    POST /v1/nodes                   {id, address, seconds, status}                  by a node that joins
    POST /v1/nodes/heartbeat         {id, fence, status, sessions} -> {"ended": [...], "draining": false}
    POST /v1/nodes/ID/drain

and the paths of `leases/app.py`. FILE is a SQLite file, or redis://HOST:PORT/0, which several managers share.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Coroutine, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from tars_jax.sandbox.service.leases import Leases
from tars_jax.sandbox.service.leases.__main__ import run_manager
from tars_jax.sandbox.service.leases.app import LeaseApp
from tars_jax.sandbox.service.leases.lease import LEAST_SECONDS, LONGEST, MOST_SECONDS
from tars_jax.sandbox.service.nodes.answers import Admission, fence_of, fields_of, request_error, typed_errors
from tars_jax.sandbox.service.nodes.placement import Placed, Placement
from tars_jax.web.protocol import Fields, RequestError
from tars_jax.web.responses import JsonResponse, http_error, internal_error

LONGEST_WAIT_S = 600.0


def make_manager(leases: Leases, keys: Sequence[str], *, local: bool) -> ASGIApp:
    """The application; it opens the leases when it starts. Nodes are called with the first key."""
    placement = Placement(leases, keys[0])
    routes = _Routes(placement)
    one = "/v1/sandboxes/{id}"
    app = Starlette(
        routes=[
            Route("/v1/sandboxes", routes.claim, methods=["POST"]),
            Route(one, routes.look_up, methods=["GET"]),
            Route(f"{one}/renew", routes.renew, methods=["POST"]),
            Route(f"{one}/release", routes.release, methods=["POST"]),
            Route("/v1/nodes", routes.nodes, methods=["GET"]),
            Route("/v1/nodes", routes.register, methods=["POST"]),
            Route("/v1/nodes/heartbeat", routes.heartbeat, methods=["POST"]),
            Route("/v1/nodes/{id}/drain", routes.drain, methods=["POST"]),
        ],
        exception_handlers={RequestError: request_error, HTTPException: http_error, Exception: internal_error},
    )
    app.router.redirect_slashes = False
    return LeaseApp(leases, keys, local=local, others=Admission(app, keys, local=local), on_stop=placement.close)


class _Routes:
    def __init__(self, placement: Placement) -> None:
        self._placement = placement

    async def claim(self, request: Request) -> Response:
        fields = await fields_of(request)
        spec, holder, once = fields.text("spec"), fields.text("holder"), fields.text("once")
        seconds = _seconds(fields)
        deadline_s = fields.number("deadline_s", 0.0, 0.0, LONGEST_WAIT_S)
        fields.done()
        for name, value in (("holder", holder), ("once", once)):
            if not 0 < len(value) <= LONGEST[name]:
                raise fields.error(name, f"text of 1 to {LONGEST[name]} characters")
        if seconds is None:
            raise fields.error("seconds", f"a number from {LEAST_SECONDS:g} to {MOST_SECONDS:g}")
        with typed_errors():
            placed = await _while_connected(request, self._placement.claim(spec, holder, seconds, deadline_s, once))
        return JsonResponse(placed.to_json())

    async def look_up(self, request: Request) -> Response:
        with typed_errors():
            return JsonResponse((await self._placement.look_up(request.path_params["id"])).to_json())

    async def renew(self, request: Request) -> Response:
        fields = await fields_of(request)
        fence, seconds = fence_of(fields), _seconds(fields)
        fields.done()
        with typed_errors():
            placed = await self._placement.renew(request.path_params["id"], fence, seconds)
        return JsonResponse(placed.to_json())

    async def release(self, request: Request) -> Response:
        fields = await fields_of(request)
        fence = fence_of(fields)
        fields.done()
        with typed_errors():
            return JsonResponse({"released": await self._placement.release(request.path_params["id"], fence)})

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
        status, sessions = fields.of_type("status", dict), fields.of_type("sessions", dict)
        fields.done()
        if not all(type(value) is int for value in sessions.values()):
            raise fields.error("sessions", "an object of fences")
        with typed_errors():
            answer = await self._placement.heartbeat(id, fence, _status(fields, status), sessions)
        return JsonResponse(answer)

    async def drain(self, request: Request) -> Response:
        with typed_errors():
            await self._placement.drain(request.path_params["id"])
        return JsonResponse({"draining": True})


def _status(fields: Fields, status: dict[str, Any]) -> dict[str, Any]:
    """Raises RequestError for what no node says of itself."""
    whole = all(type(status.get(name)) is int for name in ("free", "capacity"))
    ready, specs = status.get("ready"), status.get("specs")
    counts = isinstance(ready, dict) and all(type(count) is int for count in ready.values())
    if not (whole and counts and isinstance(specs, list) and all(isinstance(spec, str) for spec in specs)):
        raise fields.error("status", "{name, capacity, free, ready: {spec: count}, specs: [...]}")
    return status


def _seconds(fields: Fields) -> float | None:
    seconds = fields.number("seconds", -1.0, LEAST_SECONDS, MOST_SECONDS)
    return None if seconds < 0 else seconds


async def _while_connected(request: Request, work: Coroutine[Any, Any, Placed]) -> Placed:
    """Ends a claim that waits when whoever made it has left: it would take a place that somebody else waits for."""
    claiming = asyncio.create_task(work)
    leaving = asyncio.create_task(request.scope["body"].disconnected())
    try:
        await asyncio.wait([claiming, leaving], return_when=asyncio.FIRST_COMPLETED)
        if not claiming.done():
            raise RequestError("the client left before its claim was answered", status=499)
        return claiming.result()
    finally:
        claiming.cancel()
        leaving.cancel()


if __name__ == "__main__":
    logging.basicConfig(format="manager: %(message)s")
    run_manager(sys.argv[1:], __doc__, make_manager)
