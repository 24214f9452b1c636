"""The mount `desktop`: noVNC's page, and the WebSocket that it speaks RFB by to a desktop of a session.

    page -> service    bytes: RFB      text: {"control": true} takes the desktop over, {"control": false} gives it back
    service -> page    bytes: RFB      the desktop's name says who has it: "watching", "yours", "another's"

One connection at a time has control; what the others press and paste is ignored. Who may only watch never has it.
POST vnc tells a port and a password for clients that speak TCP (vnc.py).
"""

from __future__ import annotations

import asyncio
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
from tars_jax.sandbox.browser.events import InputEvent, MouseMove
from tars_jax.sandbox.desktop import Desktop, Settle
from tars_jax.sandbox.desktop.clipboard import Clipboard
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.computers.session import ComputerSession
from tars_jax.sandbox.service.gateway import rfb
from tars_jax.sandbox.service.gateway.error_pages import http_error
from tars_jax.sandbox.service.gateway.mounts import (
    NO_DESKTOP,
    SessionMount,
    asset,
    page,
    require_assets,
    stream_both_ways,
    until_first,
)
from tars_jax.sandbox.service.gateway.rfb_input import Mouse, key_event
from tars_jax.sandbox.service.gateway.vnc import TcpSocket, VncPort
from tars_jax.web.protocol import RequestError, RequestFields, from_json
from tars_jax.web.responses import JsonResponse

FRAME_S = 1 / 20
IDLE_FRAME_S = 0.25  # while nothing changes
AT_ONCE = Settle(first_ms=0, quiet_ms=0, bound_ms=0)
HANDSHAKE_S = 30.0
NONE_HERE = 1008  # RFC 6455
MOST_WAITING = 1 << 20  # bytes that a client has sent and nobody has read
WATCHING, YOURS, ANOTHERS = "watching", "yours", "another's"


def screen_mount(assets: Path | None) -> SessionMount:
    """`assets`: a node_modules folder in which @novnc/novnc may be; None: there is none."""
    folder = None if assets is None else assets / "@novnc" / "novnc"

    def mount(session: ComputerSession) -> ASGIApp:
        control = _InputControl(session)

        async def show(request: Request) -> Response:
            if session.desktop is None:
                raise HTTPException(404, NO_DESKTOP)
            if path := request.path_params.get("path"):
                return asset(folder, path, ("core", "vendor"))
            if "name" not in request.path_params:
                require_assets(folder, "noVNC")
            return page(request.path_params.get("name", "desktop.html"))

        async def connect(socket: WebSocket) -> None:
            if session.desktop is None:
                await socket.close(NONE_HERE, NO_DESKTOP)
                return
            protocols = socket.scope.get("subprotocols", [])
            await socket.accept("binary" if "binary" in protocols else None)
            watches = socket.scope.get("watches", False)
            await _Viewer(socket, session, session.desktop.desktop, control, watches=watches).run()

        async def show_by_tcp(socket: TcpSocket, password: str) -> None:
            assert session.desktop is not None
            await _Viewer(socket, session, session.desktop.desktop, control, watches=False, password=password).run()

        vnc = VncPort(session, show_by_tcp)

        async def listen(request: Request) -> Response:
            if session.desktop is None:
                raise HTTPException(404, NO_DESKTOP)
            if request.scope.get("watches", False):
                raise HTTPException(403)
            return JsonResponse(await vnc.opened())

        routes = [
            Route("/", show), Route("/vnc", listen, methods=["POST"]), WebSocketRoute("/socket", connect),
            Route("/novnc/{path:path}", show), Route("/{name}", show),
        ]  # fmt: skip
        return Starlette(routes=routes, exception_handlers={HTTPException: http_error})

    return mount


class _InputControl:
    """Input control of a desktop: the one of all who look at it that has mouse and keyboard."""

    def __init__(self, session: ComputerSession) -> None:
        self._session = session
        self.viewers: list[_Viewer] = []
        self.holder: _Viewer | None = None

    def take(self, viewer: _Viewer) -> None:
        self.holder = viewer
        self._session.hold()
        self._tell()

    def leave(self, viewer: _Viewer) -> None:
        if self.holder is viewer:
            self.holder = None
            self._session.give_back()
            self._tell()

    def has(self, viewer: _Viewer) -> bool:
        """Whether it does; one that has rested for too long has lost it."""
        if self.holder is viewer and not self._session.held_by_person:
            self.leave(viewer)
        return self.holder is viewer

    def _tell(self) -> None:
        for viewer in self.viewers:
            viewer.hurry.set()


class _Viewer:
    """One viewer's connection."""

    def __init__(
        self, socket: WebSocket | TcpSocket, session: ComputerSession, desktop: Desktop, control: _InputControl, *,
        watches: bool, password: str = "",
    ) -> None:  # fmt: skip
        """With a `password`, its client has no other way to take the desktop over than to press something."""
        self._password = password
        self._socket, self._session, self._desktop, self._control, self._watches = (
            socket,
            session,
            desktop,
            control,
            watches,
        )
        self._reader = asyncio.StreamReader(limit=MOST_WAITING)
        self._painter, self._mouse = rfb.FramebufferEncoder(), Mouse()
        self._encodings = rfb.Encodings(frozenset())
        self._asked = asyncio.Event()  # for an update
        self._whole = True  # what was asked for
        self.hurry = asyncio.Event()
        self._told = WATCHING
        self._events: list[InputEvent] = []
        self._acting = asyncio.Event()
        self._clipboard: Clipboard | None = None
        self._copied: str | None = None

    async def run(self) -> None:
        self._control.viewers.append(self)
        try:
            await stream_both_ways(self._socket, self._session, self._talk(), self._inwards())
        finally:
            self._control.viewers.remove(self)
            if self._control.holder is self:
                self._control.leave(self)
                with contextlib.suppress(SandboxFailure):
                    await self._desktop.release_all()  # a key that was down when the page was closed
            if self._clipboard is not None:
                await self._clipboard.close()

    async def _inwards(self) -> None:
        """Bytes to the reader; what is said beside them."""
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                self._reader.feed_eof()
                return
            if (data := message.get("bytes")) is not None:
                self._reader.feed_data(data)
            else:
                with contextlib.suppress(RequestError):  # words of no meaning
                    self._control_asked(RequestFields(from_json((message.get("text") or "").encode(errors="replace"))))

    def _control_asked(self, fields: RequestFields) -> None:
        wanted = fields.flag("control")
        fields.done()
        if wanted and not self._watches:
            self._control.take(self)
        elif not wanted:
            self._control.leave(self)

    async def _talk(self) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):  # it has left
            try:
                async with asyncio.timeout(HANDSHAKE_S):
                    await rfb.read_handshake(self._reader, self._socket.send_bytes, self._password)
                await self._socket.send_bytes(rfb.server_init(*self._desktop.size, WATCHING))
                if not self._watches:  # a clipboard may hold what was never on the screen
                    loop = asyncio.get_running_loop()
                    self._clipboard = await self._desktop.clipboard(
                        lambda text: loop.call_soon_threadsafe(self._program_copied, text)
                    )
                await until_first(self._read(), self._paint(), self._act())
            except (rfb.RfbError, TimeoutError) as error:
                raise SandboxFailure("desktop", f"the client speaks no RFB: {error}") from error

    # ---- what the client says ----

    async def _read(self) -> None:
        while True:
            message = await rfb.read_message(self._reader)
            match message:
                case rfb.PixelFormat():
                    self._painter.format = message
                case rfb.Encodings(numbers):
                    self._painter.tight = rfb.TIGHT in numbers
                    if rfb.EXTENDED_CLIPBOARD in numbers and rfb.EXTENDED_CLIPBOARD not in self._encodings.numbers:
                        await self._socket.send_bytes(rfb.clipboard_caps())
                    self._encodings = message
                case rfb.UpdateRequest(incremental):
                    self._whole |= not incremental
                    self._asked.set()
                case rfb.Key() | rfb.Pointer() | rfb.Cut() if self._plays():
                    self._session.hold()
                    self._session.renew()
                    await self._played(message)

    def _plays(self) -> bool:
        if self._password and not self._session.held_by_person:
            self._control.take(self)
        return self._control.has(self)

    async def _played(self, message: rfb.Key | rfb.Pointer | rfb.Cut) -> None:
        if isinstance(message, rfb.Cut):
            if message.text is None:
                await self._socket.send_bytes(rfb.clipboard_request())
            elif self._clipboard is not None:
                self._clipboard.put(message.text)
            return
        if isinstance(message, rfb.Key):
            event = key_event(message)
            self._events += [] if event is None else [event]
        else:
            moved, *rest = self._mouse.events(message)
            if self._events and isinstance(self._events[-1], MouseMove):
                self._events.pop()  # only where the pointer got to
            self._events += [moved, *rest]
        self._acting.set()

    async def _act(self) -> None:
        while True:
            await self._acting.wait()
            self._acting.clear()
            events, self._events = self._events, []
            with contextlib.suppress(InputError):  # a key that this desktop has not
                await self._desktop.act(events, settle=AT_ONCE)
            self.hurry.set()

    # ---- what it is told ----

    def _program_copied(self, text: str) -> None:
        self._copied = text
        self.hurry.set()

    async def _paint(self) -> None:
        pause = FRAME_S
        while True:
            await self._asked.wait()
            if await self._tell():
                continue
            screenshot = await self._desktop.screenshot()
            whole, self._whole = self._whole, False
            update = await asyncio.to_thread(lambda: self._painter.update(screenshot.pixels, whole))  # noqa: B023
            if update is not None:
                self._asked.clear()
                await self._socket.send_bytes(update)
            pause = FRAME_S if update is not None else min(1.5 * pause, IDLE_FRAME_S)
            self.hurry.clear()
            await asyncio.sleep(FRAME_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, pause - FRAME_S)):
                    await self.hurry.wait()

    async def _tell(self) -> bool:
        """The clipboard, and who has control, where they are other than before: whether that was the update."""
        text, self._copied = self._copied, None
        if text is not None and self._control.has(self):
            extended = rfb.EXTENDED_CLIPBOARD in self._encodings.numbers
            await self._socket.send_bytes(rfb.clipboard_text(text) if extended else rfb.clipboard_latin(text))
        told = YOURS if self._control.has(self) else ANOTHERS if self._session.held_by_person else WATCHING
        if told == self._told or rfb.DESKTOP_NAME not in self._encodings.numbers:
            return False
        self._told = told
        self._asked.clear()
        await self._socket.send_bytes(rfb.named(told))
        return True
