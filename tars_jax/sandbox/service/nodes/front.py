"""A manager as the sandbox service of many machines: its paths are those of one machine's, its sessions on nodes.

    POST /v1/sessions        placed on a node, which gives a ready session or opens one
    POST /v1/renewals        split by node
    /v1/sessions/ID/...      passed on to the node that ID names, and so is /s/ID/..., websockets too
    GET /v1/sessions, /v1/snapshots, /v1/stats     of all nodes
    GET  /v1/nodes                                 -> {"nodes": [...]}, for the operator
    POST /v1/nodes           {id, address, seconds}: a heartbeat
    POST /v1/nodes/ID/drain

Who asks is looked at here, by owners' keys; tokens of sessions are looked at by their nodes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import urllib.parse
from collections.abc import AsyncIterator
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tars_jax import InputError
from tars_jax.sandbox.failures import SandboxFailure, SessionEnded
from tars_jax.sandbox.service.access import bearer, owner_of, require_owner
from tars_jax.sandbox.service.api.app import ServiceLimits, live_page
from tars_jax.sandbox.service.api.session_routes import read_renewals
from tars_jax.sandbox.service.computers.sessions import MOST_FORKS
from tars_jax.sandbox.service.config import OPERATOR, Owner, ServiceConfig
from tars_jax.sandbox.service.errors import LONGEST_KEY, typed_errors
from tars_jax.sandbox.service.gateway.grants import session_of_host
from tars_jax.sandbox.service.gateway.paths import PREFIX, read_path
from tars_jax.sandbox.service.nodes.live_nodes import LiveNodes
from tars_jax.sandbox.service.nodes.node_client import NodeClient
from tars_jax.sandbox.service.nodes.placement import Wanted
from tars_jax.sandbox.service.nodes.proxy import again, pass_on
from tars_jax.sandbox.service.nodes.sandboxes import LEASE, spec_of
from tars_jax.sandbox.service.nodes.scheduler import SessionScheduler
from tars_jax.sandbox.service.nodes.sessions import READY
from tars_jax.sandbox.service.waiting import while_connected
from tars_jax.sandbox.sessions.registry import node_of
from tars_jax.web.protocol import RequestError, RequestFields, to_json
from tars_jax.web.responses import JsonResponse, error_response, http_error, internal_error, read_json

ONE = "/v1/sessions/{id}"
DEFAULT_KIND = "browser"  # as of the service of one machine
MOST_SECONDS = 86_400.0  # between two heartbeats


def make_front(config: ServiceConfig, key: str) -> ASGIApp:
    """The application; nodes call it, and are called, with `key`."""
    front = _Front(config, key)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await front.client.close()

    app = Starlette(
        routes=[
            Route("/", front.live, methods=["GET"]),
            Route("/live/{name}", front.live, methods=["GET"]),
            Route("/health", front.health, methods=["GET"]),
            Route("/v1/stats", front.stats, methods=["GET"]),
            Route("/v1/sessions", front.sessions, methods=["GET"]),
            Route("/v1/sessions", front.open, methods=["POST"]),
            Route("/v1/renewals", front.renew_many, methods=["POST"]),
            Route(ONE, front.release, methods=["DELETE"]),
            Route(f"{ONE}/fork", front.fork, methods=["POST"]),
            Route("/v1/snapshots", front.snapshots, methods=["GET"]),
            Route("/v1/snapshots/{name:path}", front.remove_snapshot, methods=["DELETE"]),
            Route("/v1/nodes", front.nodes, methods=["GET"]),
            Route("/v1/nodes", front.heartbeat, methods=["POST"]),
            Route("/v1/nodes/{id}/drain", front.drain, methods=["POST"]),
        ],
        exception_handlers={RequestError: _request_error, HTTPException: http_error, Exception: internal_error},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return ServiceLimits(_Sessions(app, front), config, _Previews(front))


async def _request_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    return error_response(error)


class _Front:
    def __init__(self, config: ServiceConfig, key: str) -> None:
        self.config, self._key, self._live = config, key, LiveNodes()
        self.client = NodeClient(self._live, key)
        self._scheduler = SessionScheduler(self.client)

    # ---- who asks ----

    def owner_of(self, key: str) -> Owner | None:
        return owner_of(self.config.owners, key)

    def owner(self, connection: HTTPConnection) -> Owner:
        """Raises RequestError without a key."""
        return require_owner(self.config.owners, connection)

    def require_operator(self, request: Request) -> None:
        if self.owner(request).name != OPERATOR:
            raise RequestError("nodes are the operator's: the key must be that one's; got another's", status=403)

    async def pass_on(self, scope: Scope, receive: Receive, send: Send, id: str, key: str) -> None:
        """A request for a session, on to its node. Raises RequestError."""
        owner = self.owner_of(key)
        with typed_errors():
            try:
                address = await self._live.address_of(id)
            except (SessionEnded, SandboxFailure):
                if not key:
                    self.owner(HTTPConnection(scope))
                raise
            await pass_on(scope, receive, send, address, None if owner is None else owner.name, self._key)

    # ---- what is of all nodes ----

    async def live(self, request: Request) -> Response:
        return live_page(request.path_params.get("name", "index.html"))

    async def health(self, request: Request) -> Response:
        return JsonResponse({"status": "ok"})

    async def stats(self, request: Request) -> Response:
        owner = self.owner(request)
        sessions = await self._visible(owner)
        nodes = await self._nodes() if owner.name == OPERATOR else []
        return JsonResponse({"sessions": len(sessions), "nodes": nodes})

    async def _visible(self, owner: Owner) -> list[dict[str, Any]]:
        answers = await self.client.ask_all("GET", "/v1/sessions", owner.name)
        told = [each for status, answer in answers.values() if status == 200 for each in answer["sessions"]]
        return sorted((each for each in told if each["owner"] != READY), key=lambda each: each["created"])

    async def sessions(self, request: Request) -> Response:
        return JsonResponse({"sessions": await self._visible(self.owner(request))})

    async def snapshots(self, request: Request) -> Response:
        answers = await self.client.ask_all("GET", "/v1/snapshots", self.owner(request).name)
        return JsonResponse({"snapshots": [each for _, told in answers.values() for each in told.get("snapshots", ())]})

    async def remove_snapshot(self, request: Request) -> Response:
        path = f"/v1/snapshots/{urllib.parse.quote(request.path_params['name'], safe='')}"
        answers = list((await self.client.ask_all("DELETE", path, self.owner(request).name)).values())
        if any(status == 204 for status, _ in answers):
            return Response(status_code=204)
        if not answers:
            raise RequestError("no node answers", "node", status=502, code="sandbox_failure")
        return JsonResponse(answers[0][1], status_code=answers[0][0])

    async def renew_many(self, request: Request) -> Response:
        """Renews leases as the service of one machine does. Leases of a node that does not answer are left out."""
        owner = self.owner(request)
        by_node: dict[str, list[str]] = {}
        for id in await read_renewals(request):
            by_node.setdefault(node_of(id), []).append(id)
        await self._live.settled()
        live = self._live.addresses()

        async def renew(node: str, ids: list[str]) -> list[str]:
            if node not in live:
                return ids
            with contextlib.suppress(SandboxFailure):
                received = await self.client.ask(node, "POST", "/v1/renewals", owner.name, to_json({"ids": ids}))
                return json.loads(received.body)["ended"] if received.status == 200 else []
            return []

        ended = await asyncio.gather(*(renew(node, ids) for node, ids in by_node.items()))
        return JsonResponse({"ended": [id for each in ended for id in each]})

    # ---- nodes ----

    async def _nodes(self) -> list[dict[str, Any]]:
        addresses, nodes = self._live.addresses(), await self.client.statuses(OPERATOR)
        told = ("id", "name", "capacity", "free", "ready", "kinds", "draining")
        return [
            {**{name: getattr(node, name) for name in told}, "address": addresses.get(node.id)}
            for node in sorted(nodes, key=lambda node: node.id)
        ]

    async def nodes(self, request: Request) -> Response:
        self.require_operator(request)
        return JsonResponse({"nodes": await self._nodes()})

    async def heartbeat(self, request: Request) -> Response:
        self.require_operator(request)
        fields = RequestFields(await read_json(request))
        id, address, seconds = fields.text("id"), fields.text("address"), fields.number("seconds", 10, 0, MOST_SECONDS)
        fields.done()
        with typed_errors():
            self._live.heartbeat(id, address, seconds)
        return JsonResponse({})

    async def drain(self, request: Request) -> Response:
        self.require_operator(request)
        id = request.path_params["id"]
        with typed_errors():
            await self._live.settled()
            if id not in self._live.addresses():
                raise InputError(f"node must be one that lives; got {id!r:.80}")
            received = await self.client.ask(id, "POST", "/v1/node/drain", OPERATOR)
        return _answer(received.status, received.body)

    # ---- sessions that begin and end ----

    async def open(self, request: Request) -> Response:
        """Opens a session as the service of one machine does."""
        owner = self.owner(request)
        asked = await read_json(request)
        fields = RequestFields(asked)
        kind, key = fields.text("kind", DEFAULT_KIND), fields.optional_text("idempotency_key", LONGEST_KEY)
        if key is None:
            asked["idempotency_key"] = key = secrets.token_hex(8)
        body = {"kind": kind, **{name: value for name, value in asked.items() if name not in LEASE}}
        with typed_errors():
            node = None
            if (snapshot := fields.optional_text("snapshot")) is not None:
                node = await self._node_with(owner, snapshot)
            wanted = Wanted(kind, spec_of(body, owner.name).key, owner.name, key, node)
            sent = to_json({**asked, "kind": kind})
            opening = self._scheduler.open(wanted, sent, owner.sessions, self.config.open_seconds)
            received = await while_connected(request, opening)
        return _answer(received.status, received.body)

    async def _node_with(self, owner: Owner, snapshot: str) -> str | None:
        """The node of the owner's newest snapshot of this name; None: no node has one, as a node then says."""
        answers = await self.client.ask_all("GET", "/v1/snapshots", owner.name)
        found = [
            (each["created"], node)
            for node, (_, told) in answers.items()
            for each in told.get("snapshots", ())
            if each["name"] == snapshot
        ]
        return max(found)[1] if found else None

    async def release(self, scope: Scope, receive: Receive, send: Send, id: str) -> None:
        """Releases a session; to its owner the session of a node that has died is over."""
        key = bearer(HTTPConnection(scope))
        if (owner := self.owner_of(key)) is None:
            await self.pass_on(scope, receive, send, id, key)
            return
        response = Response(status_code=204)
        with typed_errors():
            try:
                await self._live.address_of(id)
                received = await self.client.ask(node_of(id), "DELETE", f"/v1/sessions/{id}", owner.name)
                response = _answer(received.status, received.body)
            except SandboxFailure:
                pass
        await response(scope, receive, send)

    async def fork(self, request: Request) -> Response:
        """The node forks; how many sessions the owner may have is looked at here."""
        owner = self.owner(request)  # a token opens one session, and leases none
        body = await request.body()
        count = RequestFields(await read_json(request)).integer("count", 1, 1, MOST_FORKS) or 1
        id = request.path_params["id"]
        with typed_errors():
            await self._live.address_of(id)
            await self._scheduler.require_quota(owner.name, owner.sessions, count)
            received = await self.client.ask(node_of(id), "POST", f"/v1/sessions/{id}/fork", owner.name, body)
        return _answer(received.status, received.body)


def _answer(status: int, body: bytes) -> Response:
    return Response(body, status, media_type="application/json" if body else None)


class _Sessions:
    """An ASGI application: what is about a session goes to its node, but for its forks, which are counted here."""

    def __init__(self, app: ASGIApp, front: _Front) -> None:
        self._app, self._front = app, front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", "")
        id, _, rest = path.removeprefix("/v1/sessions/").partition("/")
        if not path.startswith("/v1/sessions/") or (rest == "fork" and scope["type"] == "http"):
            await self._app(scope, receive, send)
        elif not rest and scope.get("method") == "DELETE":
            await self._front.release(scope, receive, send, id)
        else:
            await self._front.pass_on(scope, receive, send, id, bearer(HTTPConnection(scope)))


class _Previews:
    """The `SessionPaths` of nodes' sessions."""

    def __init__(self, front: _Front) -> None:
        self._front = front

    def takes(self, scope: Scope, host: str) -> bool:
        return self.owner_of(host) is not None or scope.get("raw_path", b"").startswith(PREFIX)

    def owner_of(self, host: str) -> str | None:
        return session_of_host(host, self._front.config.preview_domain)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        target = read_path(scope["raw_path"])
        connection = HTTPConnection(scope)
        key = bearer(connection) or connection.query_params.get("token", "")
        if target.mount == "open" and scope["type"] == "http" and scope["method"] == "POST":
            body = await Request(scope, receive).body()
            form = dict(urllib.parse.parse_qsl(body.decode("latin-1"), keep_blank_values=True))
            key, receive = form.get("token", ""), again(body, receive)
        await self._front.pass_on(scope, receive, send, target.id, key)
