"""/v1/sessions: leases, lists, renewal, release of sessions of all kinds."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tars_jax.sandbox.service.access import Access
from tars_jax.sandbox.service.config import ServiceConfig
from tars_jax.sandbox.service.errors import LONGEST_WORD, typed_errors
from tars_jax.sandbox.service.kinds import Kind, Opening
from tars_jax.sandbox.sessions.leased import Leased
from tars_jax.sandbox.sessions.registry import AllSessions
from tars_jax.web.protocol import Fields, RequestError, busy
from tars_jax.web.responses import JsonResponse, read_json

LOOK_S = 1.0  # that a list waits to learn what runs in its sessions
COMES_BACK_S = 5.0  # a client that was told to come again does so at once


@dataclasses.dataclass
class _Leasing:
    """A lease that several requests may wait for, one after another; without any for a while it is given up."""

    task: asyncio.Future[tuple[Leased, str]]
    asked: Any  # the request's body
    waiting: int = 0

    async def wait(self) -> tuple[Leased, str]:
        self.waiting += 1
        try:
            return await asyncio.shield(self.task)
        finally:
            self.waiting -= 1
            asyncio.get_running_loop().call_later(COMES_BACK_S, self._give_up)

    def _give_up(self) -> None:
        if not self.waiting:
            self.task.cancel()  # nothing happens to one that is done

    def is_over(self, sessions: AllSessions) -> bool:
        """Whether it failed, or its session has ended."""
        if not self.task.done():
            return False
        return self.task.cancelled() or bool(self.task.exception()) or self.task.result()[0].id not in sessions


class SessionRoutes:
    def __init__(self, kinds: Mapping[str, Kind], sessions: AllSessions, config: ServiceConfig, access: Access) -> None:
        self._kinds, self._sessions, self._config, self._access = kinds, sessions, config, access
        self._leasing: dict[tuple[str, str], _Leasing] = {}  # by owner and word

    async def lease(self, request: Request) -> Response:
        """{kind?, lease_seconds?, once?, ...} -> 201 {id, token, ...}; what else there is, the kind reads.

        A request that comes again with the same word `once`, as its answer did not arrive, gets the same session.
        """
        owner = self._access.owner(request)
        asked = await read_json(request)
        fields = Fields(asked)
        kind = self._kinds.get(fields.text("kind", next(iter(self._kinds))))
        if kind is None:
            raise fields.error("kind", f"one of {', '.join(self._kinds)}")
        seconds = fields.number("lease_seconds", kind.default_lease_s, 0.1, kind.most_lease_s)
        once = fields.optional_text("once", LONGEST_WORD)
        opening = kind.opening(fields, owner, seconds)
        fields.done()
        with typed_errors():
            try:
                async with asyncio.timeout(self._config.open_seconds):
                    work = opening() if once is None else self._once((owner.name, once), asked, opening)
                    session, token = await work
            except TimeoutError as error:
                raise busy(f"no session within {self._config.open_seconds:g} seconds; come again") from error
        return JsonResponse({**session.to_json(), "token": token}, status_code=201)

    async def _once(self, word: tuple[str, str], asked: Any, opening: Opening) -> tuple[Leased, str]:
        """The lease under this word: one that has begun, as long as its session lives, otherwise a new one.

        Raises RequestError where the word was that of another request.
        """
        for key in [key for key, each in self._leasing.items() if each.is_over(self._sessions)]:
            del self._leasing[key]
        if word in self._leasing:
            if self._leasing[word].asked != asked:
                raise RequestError("once must be an idempotency key of this request alone; got that of another", "once")
        else:
            self._leasing[word] = _Leasing(asyncio.ensure_future(opening()), asked)
        return await self._leasing[word].wait()

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
        fields = Fields(await read_json(request))
        given = fields.value("lease_seconds")
        seconds = fields.number("lease_seconds", 0.0, 0.1, self._kinds[session.kind].most_lease_s)
        fields.done()
        with typed_errors():
            return JsonResponse(self._sessions.renew(session.id, None if given is None else seconds).to_json())

    async def release(self, request: Request) -> Response:
        session = self._access.session(request)
        with typed_errors():
            await self._sessions.release(session.id)
        return Response(status_code=204)
