"""/v1/sessions/ID/...: calls, the last picture, events, and a person's hand, for sessions of all kinds."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from tars_jax.sandbox.service.access import Access
from tars_jax.sandbox.service.config import ServiceConfig
from tars_jax.sandbox.service.errors import HELD, LONGEST_KEY, typed_errors
from tars_jax.sandbox.service.kinds import Kind
from tars_jax.sandbox.sessions.leased_session import LeasedSession
from tars_jax.web.protocol import RequestError, RequestFields, from_json, to_json
from tars_jax.web.responses import EventStream, JsonResponse, read_json

MOST_CALLS = 64  # of one WebSocket that are under way
REFUSAL = 1008  # RFC 6455


class _WhileConnected(EventStream):
    """Ends when its client leaves: a quiet session has nothing to send that would show it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def left() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        tasks = {asyncio.ensure_future(super().__call__(scope, receive, send)), asyncio.ensure_future(left())}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


class CallRoutes:
    def __init__(self, kinds: Mapping[str, Kind], config: ServiceConfig, access: Access) -> None:
        self._kinds, self._config, self._access = kinds, config, access

    async def call(self, request: Request) -> Response:
        """{call: {call: NAME, ...}, idempotency_key?, person?} -> the answer, as the kind gives it"""
        session = self._access.session(request)
        return JsonResponse(await self._answer(session, RequestFields(await read_json(request))))

    async def _answer(self, session: LeasedSession, fields: RequestFields) -> dict[str, Any]:
        value, idempotency_key, person = (
            fields.value("call"),
            fields.optional_text("idempotency_key", LONGEST_KEY),
            fields.flag("person"),
        )
        fields.done()
        if not person:
            await self._given_back(session)
        with typed_errors(given={"call": value, "idempotency_key": idempotency_key, "person": person}):
            return await self._kinds[session.kind].call(session, value, idempotency_key=idempotency_key, person=person)

    async def calls(self, socket: WebSocket) -> None:
        """Calls over a WebSocket, many at once.

        Each is {id, call, idempotency_key?, person?} -> {id, ok} or {id, error}.
        """
        try:
            session = self._access.session(socket)
        except RequestError as error:
            await socket.close(REFUSAL, error.message[:100])
            return
        await socket.accept()
        turns, tasks = asyncio.Semaphore(MOST_CALLS), set[asyncio.Task[None]]()

        async def one(text: str) -> None:
            try:
                await self._reply(socket, session, text)
            finally:
                turns.release()

        try:
            while True:
                text = await socket.receive_text()
                await turns.acquire()
                tasks.add(task := asyncio.create_task(one(text)))
                task.add_done_callback(tasks.discard)
        except (WebSocketDisconnect, KeyError):  # KeyError: bytes instead of text
            pass
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _reply(self, socket: WebSocket, session: LeasedSession, text: str) -> None:
        number: Any = None
        try:
            given = from_json(text.encode(errors="replace"))
            fields = RequestFields(given)
            number = fields.value("id")
            if type(number) not in (int, str):
                raise fields.error("id", "a number or text")
            self._access.session(socket)  # it may have ended
            answer: dict[str, Any] = {"id": number, "ok": await self._answer(session, fields)}
        except RequestError as error:
            answer = {"id": number if type(number) in (int, str) else None, **error.body()}
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            await socket.send_text(to_json(answer).decode())

    async def screenshot(self, request: Request) -> Response:
        """Last screenshot of the session, as PNG."""
        session = self._access.session(request)
        with typed_errors():
            png = await self._kinds[session.kind].picture(session)
        if png is None:
            raise RequestError("there has been no screenshot yet", status=404, code="no_screenshot")
        headers = {"Cache-Control": "no-store", "X-Calls": str(session.to_json()["calls"])}
        return Response(png, media_type="image/png", headers=headers)

    async def events(self, request: Request) -> Response:
        """Server-sent events from ?after=NUMBER on: {number, time, kind, data} each, until the session ends."""
        session = self._access.session(request)
        given = request.query_params.get("after", "0")
        if not given.isdecimal() or len(given) > 15:
            raise RequestError(f"after must be the number of an event; got {given[:80]!r}", "after")

        async def items() -> AsyncGenerator[Any, None]:
            yield {"kind": "hello", "session": session.id, "last": session.events.last}
            async for event in session.events.follow(int(given)):
                yield event.to_json()

        return await _WhileConnected.begin(items())

    async def person(self, request: Request) -> Response:
        """{holds: true} takes the session over: calls wait. {holds: false} gives it back."""
        session = self._access.session(request)
        fields = RequestFields(await read_json(request))
        if fields.value("holds") is None:
            raise fields.error("holds", "true or false")
        holds = fields.flag("holds")
        fields.done()
        if holds:
            session.hold()
        else:
            session.give_back()
        return JsonResponse(session.to_json())

    async def _given_back(self, session: LeasedSession) -> None:
        try:
            async with asyncio.timeout(self._config.person_seconds):
                await session.given_back()
        except TimeoutError as error:
            raise RequestError(
                "a person holds the session; come again", status=423, code=HELD, headers={"Retry-After": "1"}
            ) from error
