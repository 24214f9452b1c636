"""/v1/sessions/ID/...: what computers have beside sessions of other kinds: files of any size, snapshots, forks."""

from __future__ import annotations

import posixpath
import urllib.parse
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tars_jax.sandbox.computer.guest.frames import PIECE
from tars_jax.sandbox.service.access import Access
from tars_jax.sandbox.service.computers.file_calls import FileCalls
from tars_jax.sandbox.service.computers.session import ComputerSession
from tars_jax.sandbox.service.computers.sessions import MOST_FORKS, ComputerSessions
from tars_jax.sandbox.service.errors import typed_errors
from tars_jax.sandbox.service.waiting import while_connected
from tars_jax.web.protocol import RequestError, RequestFields
from tars_jax.web.responses import JsonResponse, read_json


class ComputerRoutes:
    def __init__(self, sessions: ComputerSessions, access: Access) -> None:
        self._sessions, self._access = sessions, access

    async def _files(self, request: Request) -> tuple[ComputerSession, FileCalls, str]:
        session = self._access.session_of(ComputerSession, request)
        with typed_errors():
            await session.resume()
            session.computer  # noqa: B018 (raises what there is to say when it has gone)
        if (files := session.files) is None:
            raise RequestError("parts of the session must have files for this; got others", "parts")
        path = RequestFields(dict(request.query_params)).text("path")
        return session, files, path

    async def read_file(self, request: Request) -> Response:
        """?path=PATH: the file, of any size, to be saved and never shown: what is in it is the agent's."""
        session, files, path = await self._files(request)
        with typed_errors():
            entry = await files.files.stat(path)
            if entry.kind != "file":
                raise RequestError(f"path must be that of a file; got a {entry.kind} at {path!r:.200}", "path")
            first = await files.files.read(path, 0, PIECE)

        async def pieces() -> AsyncIterator[bytes]:
            piece, offset = first, 0
            with session.in_use():
                while piece:
                    yield piece
                    offset += len(piece)
                    piece = await files.files.read(path, offset, PIECE)

        name = urllib.parse.quote(posixpath.basename(path))
        headers = {
            "Content-Disposition": f"attachment; filename*=UTF-8''{name}", "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "sandbox", "Cache-Control": "no-store", "X-Version": entry.version,
        }  # fmt: skip
        return StreamingResponse(pieces(), media_type="application/octet-stream", headers=headers)

    async def write_file(self, request: Request) -> Response:
        """?path=PATH with the bytes as the body -> what stat tells of it. Whole or not at all."""
        session, files, path = await self._files(request)
        data = await request.body()
        with typed_errors(), session.in_use():
            entry = await files.files.write(path, data)
        return JsonResponse({"path": entry.path, "size": entry.size, "version": entry.version})

    async def take_snapshot(self, request: Request) -> Response:
        """{name} -> 201 {name, bytes, ...}: of the files; {kind: "computer", snapshot: NAME} leases one with them"""
        session = self._access.session_of(ComputerSession, request)
        fields = RequestFields(await read_json(request))
        name = fields.text("name")
        fields.done()
        with typed_errors(), session.in_use():
            named = await self._sessions.snapshots.take(session, name)
        return JsonResponse(named.to_json(), status_code=201)

    async def snapshots(self, request: Request) -> Response:
        owner = self._access.owner(request)
        return JsonResponse({"snapshots": [each.to_json() for each in self._sessions.snapshots.of(owner.name)]})

    async def remove_snapshot(self, request: Request) -> Response:
        owner = self._access.owner(request)
        with typed_errors("name"):
            await self._sessions.snapshots.remove(owner.name, request.path_params["name"])
        return Response(status_code=204)

    async def fork(self, request: Request) -> Response:
        """{count?, way?} -> 201 {sessions: [{id, token, origin, ...}]}: `origin` says by which way

        `way`: "files" (what runs does not come along), "live", "replay", or "auto" for whichever serves.
        """
        session = self._access.session_of(ComputerSession, request)
        owner = self._access.owner(request)  # a token opens one session, and leases none
        fields = RequestFields(await read_json(request))
        count = fields.integer("count", 1, 1, MOST_FORKS) or 1
        way = fields.text("way", "files")
        fields.done()
        with typed_errors():
            work = self._sessions.fork(session, count, quota=owner.sessions, way=way, quotas=owner.quotas)
            forks = await while_connected(request, work)
        told = [{**fork.to_json(), "token": token} for fork, token in forks]
        return JsonResponse({"sessions": told}, status_code=201)

    async def suspend(self, request: Request) -> Response:
        """-> the session, with `suspended`: "disk", where its programs take no memory, or "paused", where they do."""
        session = self._access.session_of(ComputerSession, request)
        with typed_errors():
            await self._sessions.suspend(session)
        return JsonResponse(session.to_json())

    async def resume(self, request: Request) -> Response:
        """-> the session, whose programs go on where they were"""
        session = self._access.session_of(ComputerSession, request)
        with typed_errors():
            await self._sessions.resume(session)
        return JsonResponse(session.to_json())
