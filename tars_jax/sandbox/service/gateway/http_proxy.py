"""Proxy of HTTP requests to a port of a session, both bodies passed on as they come.

The request is written anew from what was understood of it, and the answer is read by a strict parser, so nothing that
two programs could understand in two ways goes through.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable

import h11
from starlette.types import Receive, Scope, Send

from tars_jax.sandbox.computer.guest_client import GuestError, Streams
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.gateway.headers import Headers, to_outside
from tars_jax.sandbox.service.gateway.paths import Target
from tars_jax.web.protocol import RequestError

PIECE = 1 << 16
MOST_HEAD = 1 << 17  # bytes of the head of an answer
BAD_GATEWAY = 502


async def connected(machine: GuestMachine, port: int) -> Streams:
    """Raises RequestError where nothing listens inside at this port, SandboxFailure when the computer has gone."""
    try:
        return await machine.connect(port)
    except GuestError as error:
        raise RequestError(f"inside the session {error}", status=BAD_GATEWAY, code="no_program") from error


class HttpProxy:
    """Proxies one HTTP exchange."""

    def __init__(
        self, streams: Streams, to_outside: Callable[[Iterable[tuple[bytes, bytes]]], Headers], used: Callable[[], None]
    ) -> None:
        """`to_outside`: the answer's headers as a client gets them. `used`: hears of each piece that a client sends."""
        self._to_outside, self._used = to_outside, used
        self._reader, self._writer = streams
        self._state = h11.Connection(h11.CLIENT, max_incomplete_event_size=MOST_HEAD)
        self.begun = False  # whether the answer has begun: what goes wrong then cannot be told any more

    async def exchange(self, scope: Scope, target: bytes, headers: Headers, receive: Receive, send: Send) -> None:
        """Raises RequestError for what cannot be sent inside, or an answer that is none."""
        sends_body = any(name == b"transfer-encoding" for name, _ in scope["headers"])
        if sends_body:
            headers = [each for each in headers if each[0] != b"content-length"] + [(b"transfer-encoding", b"chunked")]
        try:
            request = h11.Request(method=scope["method"].encode(), target=target, headers=[*headers, _CLOSE])
            self._writer.write(self._state.send(request) or b"")
        except h11.LocalProtocolError as error:
            raise RequestError(f"the request cannot be passed on: {error}") from error
        sending = asyncio.create_task(self._send(receive))
        answering = asyncio.create_task(self._answer(send))
        try:
            await asyncio.wait((sending, answering), return_when=asyncio.FIRST_COMPLETED)
            if not answering.done() and sending.done() and sending.exception() is None:
                return  # the client has left
            await answering
        except (h11.RemoteProtocolError, OSError, asyncio.IncompleteReadError) as error:
            if not self.begun:
                words = f"the program inside gave no HTTP answer: {error or type(error).__name__}"
                raise RequestError(words, status=BAD_GATEWAY, code="no_answer") from error
            raise
        finally:
            for task in (sending, answering):
                task.cancel()
            await asyncio.gather(sending, answering, return_exceptions=True)

    async def _send(self, receive: Receive) -> None:
        """Passes the body on; returns when the client has left."""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            self._used()
            # A program may answer, and close, before it has read everything.
            with contextlib.suppress(OSError, h11.LocalProtocolError):
                if body := message.get("body", b""):
                    self._writer.write(self._state.send(h11.Data(data=body)) or b"")
                if not message.get("more_body", False):
                    self._writer.write(self._state.send(h11.EndOfMessage()) or b"")
                await self._writer.drain()

    async def _answer(self, send: Send) -> None:
        while True:
            event = self._state.next_event()
            if event is h11.NEED_DATA:
                self._state.receive_data(await self._reader.read(PIECE))
            elif isinstance(event, h11.Response):
                headers = self._to_outside(event.headers)
                self.begun = True
                await send({"type": "http.response.start", "status": event.status_code, "headers": headers})
            elif isinstance(event, h11.Data):
                await send({"type": "http.response.body", "body": bytes(event.data), "more_body": True})
            elif isinstance(event, h11.EndOfMessage):
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                return
            elif isinstance(event, h11.ConnectionClosed | type(h11.PAUSED)):
                raise ConnectionError("it closed the connection")


_CLOSE = (b"connection", b"close")


async def forward(
    scope: Scope, receive: Receive, send: Send, machine: GuestMachine, target: Target, path: bytes, headers: Headers,
    used: Callable[[], None],
) -> None:  # fmt: skip
    """Raises RequestError before the answer has begun; behind that, the connection is broken off."""
    assert target.port is not None
    streams = await connected(machine, target.port)
    try:
        await HttpProxy(streams, lambda given: to_outside(given, target), used).exchange(
            scope, path, headers, receive, send
        )
    except SandboxFailure:
        raise
    finally:
        streams[1].close()
