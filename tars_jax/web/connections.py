"""Kept connections to one HTTP server, for clients that ask it often: httptools on asyncio's transports.

A request takes .04 ms of the client's processor here, .12 by h11 over streams, .13 by aiohttp and 5.5 by httpx, whose
pool looks at every connection for each request (500 bytes each way, 64 requests at once). Servers of others are asked
by httpx (`web/client.py`). Whatever goes wrong is an OSError, and the connection is closed: cancelling a request closes
it as well, which tells the server.
"""

from __future__ import annotations

import asyncio
import dataclasses
import urllib.parse
from collections.abc import Mapping
from typing import Self, cast

import httptools

CONNECT_SECONDS = 10.0


@dataclasses.dataclass(frozen=True)
class Received:
    """A response that was received."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes


class NotConnected(ConnectionError):
    """The request was not sent."""


class Connections:
    """Kept connections, as many as there are requests at once; each is kept for the next one. Use as an async context
    manager."""

    def __init__(self, base: str, headers: Mapping[str, str]) -> None:
        """`base` is http://HOST:PORT or https://HOST, with a path or without; `headers` go with every request."""
        parts = urllib.parse.urlsplit(base)
        self._secure, self._path = parts.scheme == "https", parts.path.rstrip("/")
        self._host, self._port = parts.hostname or "", parts.port or (443 if self._secure else 80)
        self._head = _head({"Host": parts.netloc.rpartition("@")[2], **headers})
        self._free: list[_PooledConnection] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for connection in self._free:
            connection.close()
        self._free.clear()

    async def request(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Received:
        """`headers`: of this request alone. Raises NotConnected, and OSError when there is no whole response."""
        request = f"{method} {self._path}{path} HTTP/1.1\r\n".encode("ascii") + self._head + _head(headers or {})
        if body is not None:
            request += b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(body)
        connection = await self._connection()
        try:
            received = await connection.exchange(b"%s\r\n%s" % (request, body or b""))
        except BaseException:
            connection.close()
            raise
        if connection.reusable:
            self._free.append(connection)
        else:
            connection.close()  # the server wants no further request on it
        return received

    async def _connection(self) -> _PooledConnection:
        while self._free:
            if (connection := self._free.pop()).reusable:
                return connection
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return (
                    await asyncio.get_running_loop().create_connection(
                        lambda: _PooledConnection(f"{self._host}:{self._port}"),
                        self._host, self._port, ssl=self._secure or None,
                    )
                )[1]  # fmt: skip
        except TimeoutError as error:
            raise NotConnected(f"{self._host}:{self._port} accepts no connection") from error
        except OSError as error:
            raise NotConnected(str(error)) from error


def _head(headers: Mapping[str, str]) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode("latin-1")


class _PooledConnection(asyncio.Protocol):
    """One connection, with at most one request under way. The methods `on_...` are called by the parser."""

    def __init__(self, server: str) -> None:
        self.reusable = False
        self._server, self._transport = server, cast("asyncio.Transport | None", None)
        self._answer: asyncio.Future[Received] | None = None

    async def exchange(self, request: bytes) -> Received:
        """Writes a request and reads its response."""
        if self._transport is None:
            raise ConnectionError(f"{self._server} closed the connection")
        self.reusable = False
        self._parser, self._headers, self._pieces = httptools.HttpResponseParser(self), dict[str, str](), list[bytes]()
        self._ends_with_connection = False  # a response that says nothing of its length
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none of asyncio's classes

    def connection_lost(self, error: Exception | None) -> None:
        self.reusable, self._transport = False, None
        if error is None and self._answer is not None and self._ends_with_connection:
            self.on_message_complete()
        self._fail(error or ConnectionError(f"{self._server} closed the connection"))

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():  # nobody has asked
            self.reusable = False
            self.close()
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(ConnectionError(f"{self._server} broke off: {error}"))
            self.close()

    def on_message_begin(self) -> None:
        self.reusable, self._headers = False, {}  # those of an answer before are with who got it

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._ends_with_connection = not {"content-length", "transfer-encoding"} & self._headers.keys()

    def on_body(self, body: bytes) -> None:
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if (
            status < 200 or self._answer is None or self._answer.done()
        ):  # one that only announces another (RFC 9110, 15.2)
            return
        self.reusable = self._transport is not None and self._parser.should_keep_alive()
        self._answer.set_result(Received(status, self._headers, b"".join(self._pieces)))

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
