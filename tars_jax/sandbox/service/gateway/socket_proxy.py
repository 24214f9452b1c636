"""Proxy of WebSockets to a port of a session: messages both ways until one side leaves."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState
from websockets.client import ClientProtocol
from websockets.exceptions import InvalidHandshake, ProtocolError
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from tars_jax.sandbox.computer.guest_client import Streams
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.service.gateway.headers import Headers
from tars_jax.sandbox.service.gateway.http_proxy import connected
from tars_jax.sandbox.service.gateway.paths import Target
from tars_jax.web.protocol import RequestError

PIECE = 1 << 16
LARGEST = 16 << 20  # bytes of a message
HANDSHAKE_S = 30.0
GONE, TOO_LARGE = 1001, 1009


class InsideSocket:
    """The client's side of a WebSocket to a program inside."""

    def __init__(self, streams: Streams, host: str, subprotocols: list[str]) -> None:
        """`host`: what the header Host says."""
        self._reader, self._writer = streams
        names = [Subprotocol(name) for name in subprotocols] or None
        self._protocol = ClientProtocol(parse_uri(f"ws://{host}/"), subprotocols=names, max_size=LARGEST)
        self._pieces: list[bytes] = []
        self._kind = Opcode.BINARY
        self.code, self.reason = GONE, ""

    async def open(self, path: bytes, headers: Headers) -> str | None:
        """The subprotocol that it has chosen. Raises RequestError for a program that does not speak the protocol."""
        request = self._protocol.connect()
        request.path = path.decode("latin-1")
        for name, value in headers:
            if name not in (b"host", b"connection", b"upgrade", b"content-length"):
                request.headers[name.decode("latin-1")] = value.decode("latin-1")
        self._protocol.send_request(request)
        await self._flush()
        try:
            async with asyncio.timeout(HANDSHAKE_S):
                while True:
                    events = self._protocol.events_received()
                    if events and isinstance(events[0], Response):
                        if self._protocol.handshake_exc is not None:
                            raise self._protocol.handshake_exc
                        self._first = events[1:]  # it may have spoken at once
                        return self._protocol.subprotocol
                    if not (data := await self._reader.read(PIECE)):
                        raise ConnectionError("it closed the connection")
                    self._protocol.receive_data(data)
        except (InvalidHandshake, ProtocolError, OSError, ValueError, EOFError) as error:
            words = f"the program inside takes no WebSocket here: {error or type(error).__name__}"
            raise RequestError(words, status=502, code="no_socket") from error

    async def messages(self, deliver: Callable[[str | bytes], object]) -> None:
        """Delivers messages until the socket closes; what `deliver` gives is awaited."""
        events = self._first
        while True:
            for event in events:
                if isinstance(event, Frame) and (message := self._whole(event)) is not None:
                    await deliver(message)  # type: ignore[misc]
            await self._flush()  # pongs, and the answer to a close
            if self._protocol.close_rcvd is not None:
                self.code, self.reason = self._protocol.close_rcvd.code, self._protocol.close_rcvd.reason
                return
            data = await self._reader.read(PIECE)
            if not data:
                return
            self._protocol.receive_data(data)
            events = self._protocol.events_received()

    def _whole(self, frame: Frame) -> str | bytes | None:
        if frame.opcode in (Opcode.TEXT, Opcode.BINARY):
            self._kind = frame.opcode
        elif frame.opcode != Opcode.CONT:
            return None
        self._pieces.append(bytes(frame.data))
        if not frame.fin:
            return None
        data, self._pieces = b"".join(self._pieces), []
        return data.decode() if self._kind is Opcode.TEXT else data

    async def send(self, message: str | bytes) -> None:
        if isinstance(message, str):
            self._protocol.send_text(message.encode(errors="replace"))
        else:
            self._protocol.send_binary(message)
        await self._flush()

    async def close(self, code: int) -> None:
        with contextlib.suppress(ProtocolError, OSError, ValueError):
            self._protocol.send_close(code if code in range(1000, 1004) or 3000 <= code < 5000 else GONE)
            await self._flush()
        self._writer.close()

    async def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            self._writer.write(data)
        await self._writer.drain()


async def forward_socket(
    socket: WebSocket, machine: GuestMachine, target: Target, path: bytes, headers: Headers, used: Callable[[], None]
) -> None:
    """Raises RequestError before the client's side is accepted."""
    assert target.port is not None
    streams = await connected(machine, target.port)
    inside = InsideSocket(streams, f"localhost:{target.port}", socket.scope.get("subprotocols", []))
    try:
        chosen = await inside.open(path, headers)
        await socket.accept(chosen)
        await both_ways(socket, inside, used)
    finally:
        streams[1].close()


async def both_ways(socket: WebSocket, inside: InsideSocket, used: Callable[[], None]) -> None:
    left = GONE

    async def outwards(message: str | bytes) -> None:
        if isinstance(message, str):
            await socket.send_text(message)
        else:
            await socket.send_bytes(message)

    async def inwards() -> None:
        nonlocal left
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                left = message.get("code") or GONE
                return
            used()
            text = message.get("text")
            await inside.send(message["bytes"] if text is None else text)

    tasks = {asyncio.create_task(inside.messages(outwards)), asyncio.create_task(inwards())}
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            with contextlib.suppress(WebSocketDisconnect, OSError, ProtocolError, ValueError, RuntimeError):
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await inside.close(left)
        if socket.application_state is WebSocketState.CONNECTED and socket.client_state is WebSocketState.CONNECTED:
            with contextlib.suppress(RuntimeError, OSError):
                await socket.close(inside.code if inside.code not in (1005, 1006) else GONE, inside.reason[:100])
