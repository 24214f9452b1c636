"""The door `desktop`: a page with the desktop as it moves, and the WebSocket that takes a person's hand to it.

service -> page    bytes: a JPEG of the screen, whenever it has changed
page -> service    text: {"events": [...]}, as the calls of sessions take them
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import zlib

from PIL import Image
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from tars_jax import InputError
from tars_jax.sandbox.browser.sessions.calls import event_from_json
from tars_jax.sandbox.desktop import Desktop
from tars_jax.sandbox.desktop.screen import Screenshot
from tars_jax.sandbox.desktop.settling import Settle
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.computers.session import ComputerSession
from tars_jax.sandbox.service.config import PACKAGE
from tars_jax.sandbox.service.gateway.doors import page, stream_both_ways
from tars_jax.web.protocol import Fields, RequestError, from_json
from tars_jax.web.responses import http_error

FRAME_S = 1 / 15
IDLE_FRAME_S = 0.25  # while nothing changes
QUALITY = 80
AT_ONCE = Settle(first_ms=0, quiet_ms=0, bound_ms=0)
NONE_HERE = 1008  # RFC 6455
INPUT = PACKAGE / "sandbox" / "service" / "live" / "input.js"


def screen_door(session: ComputerSession) -> ASGIApp:
    async def show(request: Request) -> Response:
        if session.desktop is None:
            raise HTTPException(404, "the session has no desktop")
        name = request.path_params.get("name", "desktop.html")
        if name == "input.js":
            return FileResponse(INPUT, media_type="text/javascript", headers={"Cache-Control": "no-cache"})
        return page(name)

    async def connect(socket: WebSocket) -> None:
        if (part := session.desktop) is None:
            await socket.close(NONE_HERE, "the session has no desktop")
            return
        await socket.accept()
        await _Viewer(socket, session, part.desktop).run()

    routes = [Route("/", show), Route("/{name}", show), WebSocketRoute("/socket", connect)]
    return Starlette(routes=routes, exception_handlers={HTTPException: http_error})


class _Viewer:
    def __init__(self, socket: WebSocket, session: ComputerSession, desktop: Desktop) -> None:
        self._socket, self._session, self._desktop = socket, session, desktop
        self._holds = False  # it has taken the session over
        self._hurry = asyncio.Event()  # something was done: the screen may change

    async def run(self) -> None:
        try:
            await stream_both_ways(self._socket, self._session, self._outwards(), self._inwards())
        finally:
            if self._holds:
                self._session.give_back()
            with contextlib.suppress(SandboxFailure):
                await self._desktop.release_all()  # a key that was down when the page was closed

    async def _outwards(self) -> None:
        shown, pause = None, FRAME_S
        while True:
            screenshot = await self._desktop.screenshot()
            sum, jpeg = await asyncio.to_thread(_encoded, screenshot, shown)
            if jpeg is not None:
                shown = sum
                await self._socket.send_bytes(jpeg)
            pause = FRAME_S if jpeg is not None else min(1.5 * pause, IDLE_FRAME_S)
            self._hurry.clear()
            await asyncio.sleep(FRAME_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, pause - FRAME_S)):
                    await self._hurry.wait()

    async def _inwards(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            try:
                fields = Fields(from_json((message.get("text") or "").encode(errors="replace")))
                given = fields.array("events", required=True)
                events = [event_from_json(event, f"events[{index}]") for index, event in enumerate(given)]
                self._holds = True  # whoever plays with it has it: until they leave, or rest for a minute
                self._session.hold()
                await self._desktop.act(events, settle=AT_ONCE)
            except (InputError, RequestError):  # words of no meaning, or an event that cannot be
                continue
            self._hurry.set()


def _encoded(screenshot: Screenshot, before: int | None) -> tuple[int, bytes | None]:
    """A checksum of the pixels, and their JPEG unless it is the same as `before`."""
    pixels = screenshot.pixels
    sum = zlib.adler32(pixels.tobytes())
    if sum == before:
        return sum, None
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=QUALITY)
    return sum, buffer.getvalue()
