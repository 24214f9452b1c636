"""/v1/sessions: leases, lists, renewal, release of sessions of all kinds."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from tars_jax.sandbox.service.access import Access
from tars_jax.sandbox.service.api.openings import Openings
from tars_jax.sandbox.service.config import ServiceConfig
from tars_jax.sandbox.service.errors import LONGEST_KEY, typed_errors
from tars_jax.sandbox.service.kinds import Kind
from tars_jax.sandbox.sessions.registry import AllSessions
from tars_jax.web.protocol import RequestFields, busy
from tars_jax.web.responses import JsonResponse, read_json

LOOK_S = 1.0  # that a list waits to learn what runs in its sessions
MOST_RENEWED = 10_000  # of one request


class SessionRoutes:
    def __init__(
        self, kinds: Mapping[str, Kind], sessions: AllSessions, config: ServiceConfig, access: Access,
        openings: Openings,
    ) -> None:  # fmt: skip
        self._kinds, self._sessions, self._config, self._access = kinds, sessions, config, access
        self._openings = openings

    async def lease(self, request: Request) -> Response:
        """{kind?, lease_seconds?, idempotency_key?, ...} -> 201 {id, token, ...}; what else there is, the kind reads.

        A request that comes again with the same `idempotency_key`, as its answer was lost, gets the same
        session, also after a restart.
        """
        owner = self._access.owner(request)
        asked = await read_json(request)
        fields = RequestFields(asked)
        kind = self._kinds.get(fields.text("kind", next(iter(self._kinds))))
        if kind is None:
            raise fields.error("kind", f"one of {', '.join(self._kinds)}")
        seconds = fields.number("lease_seconds", kind.default_lease_s, 0.1, kind.most_lease_s)
        idempotency_key = fields.optional_text("idempotency_key", LONGEST_KEY)
        opening = kind.opening(fields, owner, seconds)
        fields.done()
        with typed_errors():
            try:
                async with asyncio.timeout(self._config.open_seconds):
                    work = (
                        opening(None)
                        if idempotency_key is None
                        else self._openings.open(owner.name, idempotency_key, asked, opening)
                    )
                    session, token = await work
            except TimeoutError as error:
                raise busy(f"no session within {self._config.open_seconds:g} seconds; come again") from error
        return JsonResponse({**session.to_json(), "token": token}, status_code=201)

    async def list(self, request: Request) -> Response:
        visible = self._access.visible(request)
        if visible:
            await asyncio.wait([asyncio.ensure_future(session.look()) for session in visible], timeout=LOOK_S)
        return JsonResponse({"sessions": [session.to_json() for session in visible]})

    async def inspect(self, request: Request) -> Response:
        session = self._access.session(request)
        await session.look()
        return JsonResponse(session.to_json())

    async def renew(self, request: Request) -> Response:
        """{lease_seconds?} -> the session"""
        session = self._access.session(request)
        fields = RequestFields(await read_json(request))
        given = fields.value("lease_seconds")
        seconds = fields.number("lease_seconds", 0.0, 0.1, self._kinds[session.kind].most_lease_s)
        fields.done()
        with typed_errors():
            return JsonResponse(self._sessions.renew(session.id, None if given is None else seconds).to_json())

    async def renew_many(self, request: Request) -> Response:
        """{ids} -> {ended}: leases begin again with the lengths that they have; `ended`: the ids that are no session"""
        self._access.owner(request)
        ids = await read_renewals(request)
        visible = {session.id for session in self._access.visible(request)}
        for id in visible.intersection(ids):
            self._sessions.renew(id)
        return JsonResponse({"ended": [id for id in ids if id not in visible]})

    async def release(self, request: Request) -> Response:
        session = self._access.session(request)
        with typed_errors():
            await self._sessions.release(session.id)
        return Response(status_code=204)


async def read_renewals(request: Request) -> list[str]:
    """The ids of a request for renewals. Raises RequestError."""
    fields = RequestFields(await read_json(request))
    ids = fields.array("ids", required=True)
    fields.done()
    if len(ids) > MOST_RENEWED or not all(isinstance(id, str) for id in ids):
        raise fields.error("ids", f"at most {MOST_RENEWED} ids of sessions")
    return ids
