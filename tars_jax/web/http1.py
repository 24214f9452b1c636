"""uvicorn's HTTP/1.1 (httptools) with limits on a request's head, which it lacks.

A head has an end in bytes and in seconds, so nobody holds memory or a connection with one that never comes. And offers
of another protocol are not heard, as a server may choose (RFC 9110, 7.8): Java's HttpClient offers h2c with the first
request of each connection, and httptools then takes the body for the other protocol's, so that it is lost.

No server's own limits serve: uvicorn over h11 bounds only the bytes, and takes 113 us of processor for a small request
against 35 here; hypercorn's `read_timeout` also ends connections that wait for a long answer; granian, which has both
limits, takes no listening socket. Nothing private of uvicorn is used: a parser is put in the place of its own.
"""

from __future__ import annotations

import asyncio
import http
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tars_jax.web.protocol import RequestError, to_json
from tars_jax.web.responses import LINGER_BYTES, LINGER_SECONDS

HEAD_BYTES = 1 << 16  # behind the piece that it begins in; one with more is refused
HEAD_SECONDS = 30.0  # from its first byte, or from the connection's beginning


class Http1(HttpToolsProtocol):
    """A connection. WebSockets are heard where uvicorn has been given them."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._heads = _BoundedHeads(self)
        self.parser = self._heads  # type: ignore[assignment]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._heads.await_end()

    def send_400_response(self, msg: str) -> None:
        """Uvicorn's answer where the parser gives up."""
        self._heads.answer(
            RequestError("the request must be HTTP/1.1 by RFC 9112; got a head, a length or a chunk that is not")
        )
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._heads.ended()
        super().connection_lost(exc)


class _BoundedHeads:
    """httptools' parser of requests, as uvicorn asks it. It closes the connection where a head has no end."""

    def __init__(self, connection: HttpToolsProtocol) -> None:
        self._connection = connection
        self._piece = b""  # what is being read
        self._size: int | None = 0  # bytes of a head that is not complete, without the piece it began in; None: no head
        self._late: asyncio.TimerHandle | None = None
        self._unread = -1  # bytes that are still read and forgotten behind a refusal; -1: nothing was refused
        self._offered = False  # the head that was read last offers a protocol that is not spoken here
        self.on_url, self.on_header, self.on_body = connection.on_url, connection.on_header, connection.on_body
        self._renew()

    def _renew(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
        self.get_method, self.get_http_version = self._parser.get_method, self._parser.get_http_version
        self.should_upgrade, self.should_keep_alive = self._parser.should_upgrade, self._parser.should_keep_alive

    def feed_data(self, data: bytes) -> None:
        if self._unread >= 0:
            self._unread = max(self._unread - len(data), 0)
            if not self._unread:
                self._connection.transport.close()
            return
        while data:
            self._piece = data
            try:
                self._parser.feed_data(data)
                break
            except httptools.HttpParserUpgrade as stopped:  # behind the head
                if not self._offered:
                    raise
                data = self._without_offer() + data[stopped.args[0] :]
                self._renew()
        if self._size is None or self._connection.transport.is_closing():
            return
        self._size += len(self._piece)
        if self._size > HEAD_BYTES:
            self._refuse_head()
        elif self._late is None:
            self.await_end()

    def on_message_begin(self) -> None:
        self._size = -len(self._piece)
        self._connection.on_message_begin()

    def on_headers_complete(self) -> None:
        self._offered = self.should_upgrade() and self._is_offer()
        if not self._offered:
            self.ended()
            self._size = None
            self._connection.on_headers_complete()

    def on_message_complete(self) -> None:
        if not self._offered:
            self._connection.on_message_complete()

    def _is_offer(self) -> bool:
        """Whether the head offers a protocol that is not spoken here. CONNECT, too, is an upgrade to httptools."""
        heard = {b"websocket"} if self._connection.ws_protocol_class is not None else set()
        return any(name == b"upgrade" and value.lower() not in heard for name, value in self._connection.headers)

    def _without_offer(self) -> bytes:
        head = [b"%s %s HTTP/%s" % (self.get_method(), self._connection.url, self.get_http_version().encode())]
        head += [b"%s: %s" % header for header in self._connection.headers if header[0] != b"upgrade"]
        return b"\r\n".join([*head, b"", b""])

    def _refuse_head(self) -> None:
        """Drops what still comes for a while: a client that writes all of it before it reads would lose the answer."""
        if not self.answer(RequestError(f"the head must have at most {HEAD_BYTES} bytes; got more", status=431)):
            self._connection.transport.close()
            return
        self.ended()
        self._unread = LINGER_BYTES
        self._late = self._connection.loop.call_later(LINGER_SECONDS, self._connection.transport.close)

    def answer(self, error: RequestError) -> bool:
        """Writes it, unless another answer is under way."""
        cycle = self._connection.cycle
        if cycle is not None and cycle.response_started and not cycle.response_complete:
            return False
        body, headers = to_json(error.body()), list(self._connection.server_state.default_headers)
        headers += [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        status = http.HTTPStatus(error.status)
        lines = [b"HTTP/1.1 %d %s" % (status, status.phrase.encode()), *(b"%s: %s" % each for each in headers)]
        self._connection.transport.write(b"\r\n".join([*lines, b"connection: close", b"", body]))
        return True

    def await_end(self) -> None:
        self._late = self._connection.loop.call_later(HEAD_SECONDS, self._connection.transport.close)

    def ended(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
