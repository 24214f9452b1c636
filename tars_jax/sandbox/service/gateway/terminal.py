"""The mount `terminal`: a page with a terminal, and the WebSocket that it speaks to a PTY of the session by.

    page -> service    bytes: keys     text: {"columns": 80, "rows": 24}
    service -> page    bytes: output

Each connection has a shell of its own, which ends with it. The page draws with xterm.js where that was installed
(launch/previews.sh), otherwise with a small terminal of ours that knows lines and no colors.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from tars_jax import InputError
from tars_jax.sandbox.computer.guest_client import GuestError
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.computers.session import ComputerSession
from tars_jax.sandbox.service.gateway.error_pages import http_error
from tars_jax.sandbox.service.gateway.mounts import FAILED, SessionMount, page, stream_both_ways
from tars_jax.sandbox.shell.terminal import GuestTerminal
from tars_jax.web.protocol import RequestError, RequestFields, from_json

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
            await _TerminalPage(socket, session).run()

        routes = [Route("/", show), Route("/{name}", show), WebSocketRoute("/socket", connect)]
        return Starlette(routes=routes, exception_handlers={HTTPException: http_error})

    return mount


class _TerminalPage:
    def __init__(self, socket: WebSocket, session: ComputerSession) -> None:
        self._socket, self._session = socket, session

    async def run(self) -> None:
        client, env = self._session.computer.machine.client, {**self._session.env, "TERM": "xterm-256color"}
        await self._socket.accept()
        try:
            self._terminal, _ = await GuestTerminal.open(client, ["bash", "-i"], env=env, columns=100, rows=30)
        except (InputError, SandboxFailure) as error:
            await self._socket.close(FAILED, str(error)[:100])
            return
        try:
            await stream_both_ways(self._socket, self._session, self._outwards(), self._inwards())
        finally:
            with contextlib.suppress(GuestError, SandboxFailure):
                await self._terminal.close()

    async def _outwards(self) -> None:
        offset = 0
        while True:
            heard = await self._terminal.read(offset, POLL_S, most=PIECE)
            offset = heard.start + len(heard.data)
            if heard.data:
                await self._socket.send_bytes(heard.data)
            elif heard.status is not None:
                return

    async def _inwards(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            self._session.renew()
            try:
                if (data := message.get("bytes")) is not None:
                    await self._terminal.type(data)
                else:
                    await self._resize(message.get("text") or "")
            except (GuestError, RequestError):  # a program that does not read, or words of no meaning
                continue

    async def _resize(self, text: str) -> None:
        fields = RequestFields(from_json(text.encode(errors="replace")))
        columns, rows = fields.integer("columns", 80, 1, 1000), fields.integer("rows", 24, 1, 1000)
        fields.done()
        await self._terminal.resize(columns or 80, rows or 24)
