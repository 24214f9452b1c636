"""Pages as a kind of session of the service."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from tars_jax.json_fields import short_repr
from tars_jax.sandbox.browser.screenshots import PageObservation
from tars_jax.sandbox.browser.service.debugging import Debugging
from tars_jax.sandbox.browser.sessions import PageSession, PageSessions
from tars_jax.sandbox.browser.sessions.calls import call_from_json
from tars_jax.sandbox.browser.sessions.journal import Journal, journal_from_json
from tars_jax.sandbox.browser.sessions.recording import PageRecording
from tars_jax.sandbox.browser.site import MAX_SIDE, PageSpec, Site
from tars_jax.sandbox.service.access import Access
from tars_jax.sandbox.service.config import Owner, ServiceConfig
from tars_jax.sandbox.service.errors import typed_errors
from tars_jax.sandbox.service.kinds import Opening
from tars_jax.sandbox.sessions.leased_session import KeyedRequest
from tars_jax.web.protocol import RequestError, RequestFields
from tars_jax.web.responses import JsonResponse


class PagesKind:
    """A `Kind`. It starts the manager with the sessions, and ends both."""

    name = PageSession.kind

    def __init__(self, sessions: PageSessions, config: ServiceConfig) -> None:
        self.sessions, self._config = sessions, config
        self.default_lease_s, self.most_lease_s = sessions.config.lease_seconds, sessions.config.max_lease_seconds

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self.sessions.manager, self.sessions:
            yield

    def opening(self, fields: RequestFields, owner: Owner, seconds: float) -> Opening:
        """{site, width?, height?, single_canvas?, network?, record?} or {checkpoint, record?}"""
        begin, record = self._begin(fields), fields.flag("record")

        async def open(request: KeyedRequest | None) -> tuple[PageSession, str]:
            session, token = await self.sessions.lease(
                begin, owner.name, seconds=seconds, quota=owner.sessions, request=request
            )
            if record:
                try:
                    self.sessions.record(session)
                except BaseException:  # nobody has heard of it
                    await self.sessions.release(session.id)
                    raise
            return session, token

        return open

    async def call(
        self, session: PageSession, value: Any, *, idempotency_key: str | None, person: bool
    ) -> dict[str, Any]:
        """{call: "act", events, advance_ms, read?, rate?} -> {png, data} or {value}"""
        answer = await session.call(call_from_json(value), idempotency_key=idempotency_key, person=person)
        if isinstance(answer, PageObservation):
            return {"png": base64.b64encode(answer.png).decode(), "data": answer.data}
        return {"value": answer}

    async def picture(self, session: PageSession) -> bytes | None:
        return None if session.last is None else session.last.png

    def record(self, session: PageSession) -> None:
        self.sessions.record(session)

    def recording(self, session: PageSession) -> PageRecording | None:
        return session.recording

    def routes(self, access: Access) -> Sequence[BaseRoute]:
        pages, one = PageRoutes(access), "/v1/sessions/{id}"
        return [
            Route(f"{one}/checkpoint", pages.checkpoint, methods=["GET"]),
            Route(f"{one}/downloads", pages.downloads, methods=["GET"]),
            Route(f"{one}/downloads/{{number}}", pages.download, methods=["GET"]),
            WebSocketRoute(f"{one}/cdp", Debugging(access).connect),
        ]

    def stats(self) -> dict[str, Any]:
        sessions = self.sessions
        counts = {"adopted": sessions.adopted, "collected": sessions.collected, "reaped": sessions.reaped}
        return {**counts, "browsers": sessions.manager.stats.to_json()}

    def _begin(self, fields: RequestFields) -> PageSpec | Journal:
        if (checkpoint := fields.value("checkpoint")) is not None:
            with typed_errors("checkpoint"):
                journal = journal_from_json(
                    RequestFields(checkpoint, "checkpoint").array("journal", required=True), "journal"
                )
            site = journal.spec.site
            folders = [str(site.root), *(str(folder) for _, folder in site.mounts)]
            if any(self._config.folder(folder) is None for folder in folders):
                raise RequestError(
                    f"checkpoint.journal must be of a site that this service shows; got {short_repr(folders)}",
                    "checkpoint",
                )
            return journal
        manager = self.sessions.manager.config
        return PageSpec(
            self._site(RequestFields(fields.value("site"), "site")),
            fields.integer("width", manager.width, 1, MAX_SIDE) or manager.width,
            fields.integer("height", manager.height, 1, MAX_SIDE) or manager.height,
            fields.flag("single_canvas"),
            tuple(_hosts(fields)),
        )

    def _site(self, fields: RequestFields) -> Site:
        mounts = fields.value("mounts") or {}
        if not isinstance(mounts, dict):
            raise fields.error("mounts", "an object, name -> folder")
        site = Site(
            self._folder(fields, "root", fields.text("root")),
            fields.text("index", "index.html"),
            tuple((name, self._folder(fields, "mounts", folder)) for name, folder in mounts.items()),
        )
        fields.done()
        return site

    def _folder(self, fields: RequestFields, name: str, given: Any) -> Any:
        folder = self._config.folder(given) if isinstance(given, str) and "\0" not in given else None
        if folder is None:
            raise fields.error(name, "a folder of tars_jax/ or below the service's roots")
        return folder


def _hosts(fields: RequestFields) -> list[str]:
    hosts = fields.array("network")
    if not all(isinstance(host, str) for host in hosts):
        raise fields.error("network", "an array of hosts")
    return hosts


class PageRoutes:
    def __init__(self, access: Access) -> None:
        self._access = access

    async def checkpoint(self, request: Request) -> Response:
        """Checkpoint of the page; its field `journal` opens another session at the same place."""
        session = self._access.session_of(PageSession, request)
        with typed_errors():
            place = await session.checkpoint()
        return JsonResponse({**place, "journal": place["journal"].to_json()})

    async def downloads(self, request: Request) -> Response:
        """{downloads: [{number, name, url, bytes, sha256}]}; the event "download" tells of each when it is there."""
        downloads = self._access.session_of(PageSession, request).downloads
        kept = [] if downloads is None else downloads.kept
        return JsonResponse({"downloads": [dataclasses.asdict(download) for download in kept]})

    async def download(self, request: Request) -> Response:
        """The file of a download, to be saved and never shown: what is in it is the page's."""
        downloads, given = self._access.session_of(PageSession, request).downloads, request.path_params["number"]
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
