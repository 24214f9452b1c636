"""/v1/sessions/ID/...: what the sessions of pages have beside others: checkpoints, downloads."""

from __future__ import annotations

import dataclasses

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from tars_jax.sandbox.browser.sessions import Session
from tars_jax.sandbox.service.access import Access
from tars_jax.sandbox.service.errors import typed_errors
from tars_jax.web.protocol import RequestError
from tars_jax.web.responses import JsonResponse


class PageRoutes:
    def __init__(self, access: Access) -> None:
        self._access = access

    async def checkpoint(self, request: Request) -> Response:
        """Where the page is; its field `journal` opens another session at the same place."""
        session = self._access.session_of(Session, request)
        with typed_errors():
            place = await session.checkpoint()
        return JsonResponse({**place, "journal": place["journal"].to_json()})

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
