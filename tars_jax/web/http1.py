"""uvicorn's HTTP/1.1 (httptools) with limits on a request's head, which it lacks.

A head has an end in bytes and in seconds, so nobody holds memory or a connection with one that never comes. And offers
of another protocol are not heard, as a server may choose (RFC 9110, 7.8): Java's HttpClient offers h2c with the first
request of each connection, and httptools then takes the body for the other protocol's, so that it is lost.
"""

from __future__ import annotations

import asyncio
import sys

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_BYTES = 1 << 16  # behind the piece that it begins in; a connection with more is closed
HEAD_SECONDS = 30.0  # from its first byte, or from the connection's beginning


class Http1(HttpToolsProtocol):
    """One connection. WebSockets are heard where uvicorn has been given them."""

    _piece, _rest = b"", b""  # what is being read; what must be read once more
    _head: int | None = 0  # bytes of a head that is not complete, without the piece it began in; None: there is none
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._late = self.loop.call_later(HEAD_SECONDS, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._in_time()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        while data:
            self._piece, self._rest = data, b""
            super().data_received(data)
            data = self._rest
        if self._head is None or self.transport.is_closing():
            return
        self._head += len(self._piece)
        if self._head > HEAD_BYTES:
            self.transport.close()
        elif self._late is None:
            self._late = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def on_message_begin(self) -> None:
        self._head = -len(self._piece)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        if not self._offers():
            self._in_time()
            self._head = None
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        if not self._offers():
            super().on_message_complete()

    def _offers(self) -> bool:
        """Whether the request offers a protocol that is not spoken here. CONNECT, too, is an upgrade to httptools."""
        return self.parser.should_upgrade() and not self._should_upgrade() and self._get_upgrade() is not None

    def _unsupported_upgrade_warning(self) -> None:
        """Called where httptools has stopped behind the head: has the request read again, without the offer."""
        stopped = sys.exception()
        if not self._offers() or not isinstance(stopped, httptools.HttpParserUpgrade):
            return
        head = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())]
        head += [b"%s: %s" % header for header in self.headers if header[0] != b"upgrade"]
        self._rest = b"\r\n".join([*head, b"", self._piece[stopped.args[0] :]])
        self.parser = httptools.HttpRequestParser(self)

    def _in_time(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
