"""A manager as the sandbox service of many machines: its paths are those of one machine's, its sessions on nodes.

    POST /v1/sessions        a claim: placed on a node, which gives a ready session or opens one
    /v1/sessions/ID/...      passed on to the session's node, and so is /s/ID/..., websockets too
    GET /v1/sessions, /v1/snapshots, /v1/stats     of all nodes

Who asks is looked at here, by owners' keys; tokens of sessions are looked at by their nodes.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import urllib.parse
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tars_jax.sandbox.failures import SandboxFailure, SessionEnded
from tars_jax.sandbox.service.access import bearer
from tars_jax.sandbox.service.api.app import Admission, live_page
from tars_jax.sandbox.service.computers.sessions import DEFAULT_LEASE_S, MOST_FORKS, MOST_LEASE_S
from tars_jax.sandbox.service.config import OPERATOR, Owner, ServiceConfig
from tars_jax.sandbox.service.errors import ENDED, LONGEST_WORD, typed_errors
from tars_jax.sandbox.service.gateway.admission import session_of_host
from tars_jax.sandbox.service.gateway.paths import PREFIX, read_path
from tars_jax.sandbox.service.leases import Lease
from tars_jax.sandbox.service.nodes.behalf import Behalf
from tars_jax.sandbox.service.nodes.placement import Placed, Placement, Wanted
from tars_jax.sandbox.service.nodes.proxy import ask, pass_on
from tars_jax.sandbox.service.nodes.sandboxes import spec_of
from tars_jax.sandbox.service.nodes.sessions import READY
from tars_jax.sandbox.service.waiting import while_connected
from tars_jax.web.protocol import Fields, RequestError
from tars_jax.web.responses import JsonResponse, error_response, http_error, internal_error, read_json

ONE = "/v1/sessions/{id}"
LEASE = ("lease_seconds", "once")  # fields of a request that are about the lease, not about the session
DEFAULT_KIND = "browser"  # as of the service of one machine


def make_front(placement: Placement, config: ServiceConfig, key: str) -> ASGIApp:
    """The application; nodes are called with `key`."""
    front = _Front(placement, config, key)
    app = Starlette(
        routes=[
            Route("/", front.live, methods=["GET"]),
            Route("/live/{name}", front.live, methods=["GET"]),
            Route("/v1/stats", front.stats, methods=["GET"]),
            Route("/v1/sessions", front.list, methods=["GET"]),
            Route("/v1/sessions", front.lease, methods=["POST"]),
            Route(ONE, front.release, methods=["DELETE"]),
            Route(f"{ONE}/fork", front.fork, methods=["POST"]),
            Route("/v1/snapshots", front.snapshots, methods=["GET"]),
            Route("/v1/snapshots/{name:path}", front.remove_snapshot, methods=["DELETE"]),
        ],
        exception_handlers={RequestError: _request_error, HTTPException: http_error, Exception: internal_error},
    )
    app.router.redirect_slashes = False
    return Admission(_Sessions(app, front), config, _Doors(front))


async def _request_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    return error_response(error)


class _Front:
    def __init__(self, placement: Placement, config: ServiceConfig, key: str) -> None:
        self.placement, self.config, self.key = placement, config, key

    # ---- who asks ----

    def owner_of(self, key: str) -> Owner | None:
        found = [owner for owner in self.config.owners if hmac.compare_digest(owner.key.encode(), key.encode())]
        return found[0] if found else None

    def owner(self, connection: HTTPConnection) -> Owner:
        """Raises RequestError without a key."""
        if (owner := self.owner_of(bearer(connection))) is None:
            words = "the header Authorization must be Bearer KEY; got no key, or a wrong one"
            headers = {"WWW-Authenticate": "Bearer"}
            raise RequestError(words, status=401, code="invalid_api_key", headers=headers)
        return owner

    async def lease_of(self, connection: HTTPConnection, id: str, key: str) -> tuple[Lease, Behalf]:
        """The session's lease, and for whom the node hears a request with this key or token.

        Raises RequestError: 401 for a stranger, 404 for a session that there is not, or that is another owner's.
        """
        owner = self.owner_of(key)
        try:
            lease = await self.placement.of_session(id)
            if owner is not None and owner.name not in (OPERATOR, lease.holder):
                raise SessionEnded(id)
        except SessionEnded as error:
            if not key:
                self.owner(connection)
            raise RequestError(str(error), status=404, code=ENDED) from error
        return lease, Behalf(None if owner is None else owner.name, lease.id, lease.fence)

    async def pass_on(self, scope: Scope, receive: Receive, send: Send, id: str, key: str) -> None:
        """A request for a session, on to its node. Raises RequestError."""
        with typed_errors():
            lease, behalf = await self.lease_of(HTTPConnection(scope), id, key)
            placed = await self.placement.place_of(lease)
            await pass_on(scope, receive, send, placed.address, behalf, self.key)

    # ---- what is of all nodes ----

    async def live(self, request: Request) -> Response:
        return live_page(request.path_params.get("name", "index.html"))

    async def _of_all(self, owner: Owner, method: str, path: str) -> dict[str, tuple[int, Any]]:
        """Status and JSON of each node that answers."""
        nodes = await self.placement.addresses()

        async def one(address: str) -> tuple[int, Any]:
            received = await ask(address, method, path, Behalf(owner.name), self.key)
            return received.status, json.loads(received.body) if received.body else None

        answers = await asyncio.gather(*map(one, nodes.values()), return_exceptions=True)
        return {id: each for id, each in zip(nodes, answers, strict=True) if isinstance(each, tuple)}

    async def stats(self, request: Request) -> Response:
        owner = self.owner(request)
        sessions = await self._visible(owner)
        nodes = await self.placement.nodes() if owner.name == OPERATOR else []
        return JsonResponse({"sessions": len(sessions), "nodes": nodes})

    async def _visible(self, owner: Owner) -> list[dict[str, Any]]:
        answers = await self._of_all(owner, "GET", "/v1/sessions")
        told = [each for _, answer in answers.values() for each in answer.get("sessions", ())]
        return sorted((each for each in told if each["owner"] != READY), key=lambda each: each["created"])

    async def list(self, request: Request) -> Response:
        with typed_errors():
            return JsonResponse({"sessions": await self._visible(self.owner(request))})

    async def snapshots(self, request: Request) -> Response:
        with typed_errors():
            answers = await self._of_all(self.owner(request), "GET", "/v1/snapshots")
        return JsonResponse({"snapshots": [each for _, told in answers.values() for each in told.get("snapshots", ())]})

    async def remove_snapshot(self, request: Request) -> Response:
        path = f"/v1/snapshots/{urllib.parse.quote(request.path_params['name'], safe='')}"
        with typed_errors():
            answers = list((await self._of_all(self.owner(request), "DELETE", path)).values())
        if any(status == 204 for status, _ in answers):
            return Response(status_code=204)
        if not answers:
            raise RequestError("no node answers", "node", status=502, code="sandbox_failure")
        return JsonResponse(answers[0][1], status_code=answers[0][0])

    # ---- sessions that begin and end ----

    async def lease(self, request: Request) -> Response:
        """As of the service of one machine."""
        owner = self.owner(request)
        asked = await read_json(request)
        fields = Fields(asked)
        kind, once = fields.text("kind", DEFAULT_KIND), fields.optional_text("once", LONGEST_WORD)
        seconds = fields.number("lease_seconds", DEFAULT_LEASE_S, 0.1, MOST_LEASE_S)
        body = {"kind": kind, **{name: value for name, value in asked.items() if name not in LEASE}}
        with typed_errors():
            node = None
            if (snapshot := fields.optional_text("snapshot")) is not None:
                node = await self._node_with(owner, snapshot)
            wanted = Wanted(kind, spec_of(body, owner.name), owner.name, seconds, owner.sessions, node)
            claim = self.placement.claim(wanted, self.config.open_seconds, once or secrets.token_hex(8))
            session = await while_connected(request, claim)
        return JsonResponse(session, status_code=201)

    async def _node_with(self, owner: Owner, snapshot: str) -> str | None:
        """Where the owner's newest snapshot of this name is; None: nowhere, as a node then says."""
        answers = await self._of_all(owner, "GET", "/v1/snapshots")
        found = [
            (each["created"], node)
            for node, (_, told) in answers.items()
            for each in told.get("snapshots", ())
            if each["name"] == snapshot
        ]
        return max(found)[1] if found else None

    async def release(self, request: Request) -> Response:
        id = request.path_params["id"]
        with typed_errors():
            lease, behalf = await self.lease_of(request, id, bearer(request))
            try:
                address, path = (await self.placement.place_of(lease)).address, f"/v1/sessions/{id}"
                received = await ask(address, "DELETE", path, behalf, self.key, token=bearer(request))
            except SandboxFailure:  # its node has died, and has ended it: so it is over, if an owner says so
                if behalf.owner is None:
                    raise
            else:
                if received.status != 204 and (received.status != 404 or behalf.owner is None):
                    return _answer(received.status, received.body)
            await self.placement.release(lease)
        return Response(status_code=204)

    async def fork(self, request: Request) -> Response:
        id, owner = request.path_params["id"], self.owner(request)  # a token opens one session, and leases none
        body = await request.body()
        count = Fields(await read_json(request)).integer("count", 1, 1, MOST_FORKS) or 1
        with typed_errors():
            lease, behalf = await self.lease_of(request, id, owner.key)
            placed = await self.placement.place_of(lease)
            return await self._fork(placed, owner, behalf, f"/v1/sessions/{id}/fork", body, count)

    async def _fork(self, placed: Placed, owner: Owner, behalf: Behalf, path: str, body: bytes, count: int) -> Response:
        leases = await self.placement.claim_forks(placed, owner.sessions, count)
        opened: list[str] = []
        try:
            forks = [(each.id, each.fence) for each in leases]
            behalf = Behalf(owner.name, behalf.claim, behalf.fence, forks)
            received = await ask(placed.address, "POST", path, behalf, self.key, body)
            if received.status == 201:
                opened = [each["id"] for each in json.loads(received.body)["sessions"]]
        finally:
            await asyncio.shield(self.placement.settle_forks(leases, opened))
        return _answer(received.status, received.body)


def _answer(status: int, body: bytes) -> Response:
    return Response(body, status, media_type="application/json")


class _Sessions:
    """An ASGI application: what is about a session goes to its node, but for its end and its forks."""

    def __init__(self, app: ASGIApp, front: _Front) -> None:
        self._app, self._front = app, front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        id, _, rest = path.removeprefix("/v1/sessions/").partition("/")
        own = rest == "fork" or (not rest and scope.get("method") == "DELETE")
        if not path.startswith("/v1/sessions/") or (own and scope["type"] == "http"):
            await self._app(scope, receive, send)
            return
        await self._front.pass_on(scope, receive, send, id, bearer(HTTPConnection(scope)))


class _Doors:
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
        if target.door == "open" and scope["type"] == "http" and scope["method"] == "POST":
            body = await Request(scope, receive).body()
            form = dict(urllib.parse.parse_qsl(body.decode("latin-1"), keep_blank_values=True))
            key, receive = form.get("token", ""), _again(body, receive)
        await self._front.pass_on(scope, receive, send, target.id, key)


def _again(body: bytes, receive: Receive) -> Receive:
    """A body that was read, once more."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def message() -> Message:
        return first.pop() if first else await receive()

    return message
