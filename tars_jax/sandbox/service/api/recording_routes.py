"""/v1/sessions/ID/recording: what was called in a session of any kind, listed, fetched, and its pictures."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from typing import IO

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tars_jax.sandbox.service.access import Access
from tars_jax.sandbox.service.errors import typed_errors
from tars_jax.sandbox.service.kinds import Kind, Recorded
from tars_jax.web.protocol import RequestError
from tars_jax.web.responses import JsonResponse

MOST_LINES = 1000  # of one answer
PIECE = 1 << 20  # bytes that are in memory


class RecordingRoutes:
    def __init__(self, kinds: Mapping[str, Kind], access: Access) -> None:
        self._kinds, self._access = kinds, access

    async def begin(self, request: Request) -> Response:
        """Records from now on. Twice is once."""
        session = self._access.session(request)
        with typed_errors():
            self._kinds[session.kind].record(session)
        return Response(status_code=204)

    def _recording(self, request: Request) -> tuple[str, Recorded]:
        session = self._access.session(request)
        if (recording := self._kinds[session.kind].recording(session)) is None:
            raise RequestError("the session is not recorded: POST here begins it", status=404, code="not_recorded")
        return session.id, recording

    async def fetch(self, request: Request) -> Response:
        """The recording up to here, one .zip file (that of a page is played by browser/sessions/recording.py)."""
        id, recording = self._recording(request)
        with typed_errors():
            file = await packed(recording.pack)  # before the response begins, so that a failure has its status
        headers = {
            "Content-Disposition": f'attachment; filename="session-{id}.zip"', "Content-Length": str(file.tell())
        }  # fmt: skip
        return StreamingResponse(pieces(file), media_type="application/zip", headers=headers)

    async def calls(self, request: Request) -> Response:
        """?after=NUMBER -> {calls: [{number, call, result, ...}], next}: from that number on, 0 the first"""
        _, recording = self._recording(request)
        after = _number(request.query_params.get("after", "0"), "after")
        with typed_errors():
            lines = await asyncio.to_thread(recording.lines, after, MOST_LINES)
        return JsonResponse({"calls": lines, "next": after + len(lines)})

    async def frame(self, request: Request) -> Response:
        """The picture that a call gave, as PNG."""
        _, recording = self._recording(request)
        number = _number(request.path_params["number"], "number")
        with typed_errors():
            png = await asyncio.to_thread(recording.frame, number)
        if png is None:
            raise RequestError(f"call {number} gave no picture", status=404, code="no_screenshot")
        return Response(png, media_type="image/png", headers={"Cache-Control": "no-store"})


def _number(given: str, name: str) -> int:
    if not (given.isascii() and given.isdecimal()) or len(given) > 9:
        raise RequestError(f"{name} must be the number of a call; got {given[:80]!r}", name)
    return int(given)


async def packed(pack: Callable[[IO[bytes]], None]) -> IO[bytes]:
    """The packed file on the disk, open at its end: a long recording is larger than what a service may hold in
    memory."""
    with contextlib.ExitStack() as unless_packed:
        file = unless_packed.enter_context(tempfile.TemporaryFile())
        await asyncio.to_thread(pack, file)
        unless_packed.pop_all()
    return file


async def pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    with file:
        file.seek(0)
        while piece := await asyncio.to_thread(file.read, PIECE):
            yield piece
