"""/v1/sessions/ID/...: calls on the page, its screenshot, its events, and a person's hand."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
from collections.abc import AsyncGenerator
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from tars_jax.sandbox.browser.screenshots import Observation
from tars_jax.sandbox.browser.service.access import Access
from tars_jax.sandbox.browser.service.config import ServiceConfig
from tars_jax.sandbox.browser.service.errors import HELD, LONGEST_WORD, typed_errors
from tars_jax.sandbox.browser.sessions import Session
from tars_jax.sandbox.browser.sessions.calls import call_from_json
from tars_jax.web.protocol import Fields, RequestError
from tars_jax.web.responses import EventStream, JsonResponse, read_json


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


class PageRoutes:
    def __init__(self, config: ServiceConfig, access: Access) -> None:
        self._config, self._access = config, access

    async def call(self, request: Request) -> Response:
        """{call: {call: "act", events, advance_ms, read?, rate?}, once?} -> {png, data} or {value}"""
        session = self._access.session(request)
        fields = Fields(await read_json(request))
        with typed_errors():
            call = call_from_json(fields.value("call"))
        once = fields.optional_text("once", LONGEST_WORD)
        person = fields.flag("person")
        fields.done()
        if not person:
            await self._given_back(session)
        with typed_errors():
            value = await session.call(call, once=once, person=person)
        if isinstance(value, Observation):
            return JsonResponse({"png": base64.b64encode(value.png).decode(), "data": value.data})
        return JsonResponse({"value": value})

    async def screenshot(self, request: Request) -> Response:
        """What the page showed last, as PNG."""
        session = self._access.session(request)
        if session.last is None:
            raise RequestError("there has been no screenshot yet", status=404, code="no_screenshot")
        headers = {"Cache-Control": "no-store", "X-Calls": str(session.calls)}
        return Response(session.last.png, media_type="image/png", headers=headers)

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

    async def downloads(self, request: Request) -> Response:
        """{downloads: [{number, name, url, bytes, sha256}]}; the event "download" tells of each when it is there."""
        downloads = self._access.session(request).downloads
        kept = [] if downloads is None else downloads.kept
        return JsonResponse({"downloads": [dataclasses.asdict(download) for download in kept]})

    async def download(self, request: Request) -> Response:
        """The file of a download, to be saved and never shown: what is in it is the page's."""
        downloads, given = self._access.session(request).downloads, request.path_params["number"]
        number = int(given) if given.isdecimal() and len(given) < 10 else 0
        kept = None if downloads is None else downloads.get(number)
        file = None if downloads is None else downloads.file(number)
        if kept is None or file is None:
            raise RequestError(f"there is no download {given[:20]!r}", status=404, code="no_download")
        headers = {
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "sandbox",
            "Cache-Control": "no-store",
        }
        return FileResponse(file, filename=kept.name, media_type="application/octet-stream", headers=headers)

    async def person(self, request: Request) -> Response:
        """{holds: true} takes the page over: calls wait. {holds: false} gives it back."""
        session = self._access.session(request)
        fields = Fields(await read_json(request))
        if fields.value("holds") is None:
            raise fields.error("holds", "true or false")
        holds = fields.flag("holds")
        fields.done()
        if holds:
            session.hold()
        else:
            session.give_back()
        return JsonResponse(session.to_json())

    async def _given_back(self, session: Session) -> None:
        try:
            async with asyncio.timeout(self._config.person_seconds):
                await session.given_back()
        except TimeoutError as error:
            raise RequestError(
                "a person holds the page; come again", status=423, code=HELD, headers={"Retry-After": "1"}
            ) from error
