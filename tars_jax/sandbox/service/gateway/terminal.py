"""The mount `terminal`: a page with a terminal, and the WebSocket that it speaks to a PTY of the session by.

    page -> service    bytes: keys     text: {"columns": 80, "rows": 24}
    service -> page    bytes: output

Each connection has a shell of its own, which ends with it. The page draws with xterm.js where that was installed
(launch/previews.sh), otherwise with a small terminal of ours that knows lines and no colors.
"""

from __future__ import annotations

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

from tars_jax.sandbox.computer.guest_client import CALL_TIMEOUT_S, GuestError
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.computers.session import ComputerSession
from tars_jax.sandbox.service.gateway.error_pages import http_error
from tars_jax.sandbox.service.gateway.mounts import FAILED, SessionMount, page, stream_both_ways
from tars_jax.web.protocol import Fields, RequestError, from_json

POLL_S = 20.0
PIECE = 1 << 16
XTERM = {"xterm.js": "lib/xterm.js", "xterm.css": "css/xterm.css", "addon-fit.js": "../addon-fit/lib/addon-fit.js"}


def terminal_mount(assets: Path | None) -> SessionMount:
    """`assets`: a node_modules folder in which @xterm/xterm may be; None: there is none."""
    folder = None if assets is None else assets / "@xterm" / "xterm"
    found = {name: folder / path for name, path in XTERM.items()} if folder is not None and folder.is_dir() else {}

    def mount(session: ComputerSession) -> ASGIApp:
        async def show(request: Request) -> Response:
            name = request.path_params.get("name", "terminal.html")
            if name in XTERM and name not in found:
                raise HTTPException(404)
            return page(name, found)

        async def connect(socket: WebSocket) -> None:
            await _Terminal(socket, session).run()

        routes = [Route("/", show), Route("/{name}", show), WebSocketRoute("/socket", connect)]
        return Starlette(routes=routes, exception_handlers={HTTPException: http_error})

    return mount


class _Terminal:
    def __init__(self, socket: WebSocket, session: ComputerSession) -> None:
        self._socket, self._session = socket, session
        self._client = session.computer.machine.client

    async def run(self) -> None:
        env = {**self._session.env, "TERM": "xterm-256color"}
        await self._socket.accept()
        try:
            opened, _ = await self._client.call("open_terminal", argv=["bash", "-i"], env=env, columns=100, rows=30)
        except (GuestError, SandboxFailure) as error:
            await self._socket.close(FAILED, str(error)[:100])
            return
        self._terminal = opened["terminal"]
        try:
            await stream_both_ways(self._socket, self._session, self._outwards(), self._inwards())
        finally:
            with contextlib.suppress(GuestError, SandboxFailure):
                await self._client.call("close_terminal", terminal=self._terminal)

    async def _outwards(self) -> None:
        offset = 0
        while True:
            answer, data = await self._client.call(
                "output", terminal=self._terminal, offset=offset, limit=PIECE, timeout_s=POLL_S,
                patience_s=POLL_S + CALL_TIMEOUT_S,
            )  # fmt: skip
            offset = answer["start"] + len(data)
            if data:
                await self._socket.send_bytes(data)
            elif answer["status"] is not None:
                return

    async def _inwards(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            self._session.renew()
            try:
                if (data := message.get("bytes")) is not None:
                    await self._client.call("type", data, terminal=self._terminal)
                else:
                    await self._resize(message.get("text") or "")
            except (GuestError, RequestError):  # a program that does not read, or words of no meaning
                continue

    async def _resize(self, text: str) -> None:
        fields = Fields(from_json(text.encode(errors="replace")))
        size: dict[str, Any] = {
            "columns": fields.integer("columns", 80, 1, 1000), "rows": fields.integer("rows", 24, 1, 1000),
        }  # fmt: skip
        fields.done()
        await self._client.call("resize", terminal=self._terminal, **size)
