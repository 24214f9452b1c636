"""/v1/sessions/ID/...: what the sessions of pages have beside others: checkpoints, recordings, downloads."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import tempfile
from collections.abc import AsyncIterator
from typing import IO

from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from tars_jax.sandbox.browser.sessions import Session, Sessions
from tars_jax.sandbox.browser.sessions.recording import Recording
from tars_jax.sandbox.service.access import Access
from tars_jax.sandbox.service.errors import typed_errors
from tars_jax.web.protocol import RequestError
from tars_jax.web.responses import JsonResponse

PIECE = 1 << 20  # bytes of a recording that are in memory


class PageRoutes:
    def __init__(self, sessions: Sessions, access: Access) -> None:
        self._sessions, self._access = sessions, access

    async def checkpoint(self, request: Request) -> Response:
        """Where the page is; its field `journal` opens another session at the same place."""
        session = self._access.session_of(Session, request)
        with typed_errors():
            place = await session.checkpoint()
        return JsonResponse({**place, "journal": place["journal"].to_json()})

    async def record(self, request: Request) -> Response:
        session = self._access.session_of(Session, request)
        with typed_errors():
            self._sessions.record(session)
        return Response(status_code=204)

    async def recording(self, request: Request) -> Response:
        """The recording up to here, one .zip file (sessions/recording.py plays it)."""
        session = self._access.session_of(Session, request)
        if session.recording is None:
            raise RequestError("the session is not recorded: POST here begins it", status=404, code="not_recorded")
        with typed_errors():
            packed = await _packed(session.recording)  # before the response begins, so that a failure has its status
        name = f'attachment; filename="session-{session.id}.zip"'
        headers = {"Content-Disposition": name, "Content-Length": str(packed.tell())}
        return StreamingResponse(_pieces(packed), media_type="application/zip", headers=headers)

    async def downloads(self, request: Request) -> Response:
        """{downloads: [{number, name, url, bytes, sha256}]}; the event "download" tells of each when it is there."""
        downloads = self._access.session_of(Session, request).downloads
        kept = [] if downloads is None else downloads.kept
        return JsonResponse({"downloads": [dataclasses.asdict(download) for download in kept]})

    async def download(self, request: Request) -> Response:
        """The file of a download, to be saved and never shown: what is in it is the page's."""
        downloads, given = self._access.session_of(Session, request).downloads, request.path_params["number"]
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


async def _packed(recording: Recording) -> IO[bytes]:
    """On the disk, open at its end: a long recording is larger than what a service may hold in memory."""
    with contextlib.ExitStack() as unless_packed:
        file = unless_packed.enter_context(tempfile.TemporaryFile())
        await asyncio.to_thread(recording.pack, file)
        unless_packed.pop_all()
    return file


async def _pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    with file:
        file.seek(0)
        while piece := await asyncio.to_thread(file.read, PIECE):
            yield piece
