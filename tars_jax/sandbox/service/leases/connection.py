"""Kept connections to a manager, for some thousand requests a second from one process.

`web/connections.py` reads answers by h11, in Python, from asyncio's streams; here httptools does, in C, and no stream.
No TLS: put a proxy that has it before a manager that others reach.
"""

from __future__ import annotations

import asyncio
import urllib.parse
from typing import Self, cast

import httptools

from tars_jax import InputError

CONNECT_S = 10.0


class _Line(asyncio.Protocol):
    """One connection, with at most one request under way."""

    def __init__(self) -> None:
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._transport: asyncio.Transport | None = None
        self._begin()

    def _begin(self) -> None:
        self._parser, self._pieces, self.reusable = httptools.HttpResponseParser(self), list[bytes](), False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none of asyncio's classes

    def connection_lost(self, error: Exception | None) -> None:
        self.reusable = False
        self._transport = None
        self._fail(error or ConnectionError("the manager closed the connection"))

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(ConnectionError(f"the manager's answer is no HTTP: {error}"))
            self.close()

    def on_body(self, body: bytes) -> None:
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        self.reusable = self._parser.should_keep_alive()
        status, body = self._parser.get_status_code(), b"".join(self._pieces)
        if self._answer is not None and not self._answer.done():
            self._answer.set_result((status, body))

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        if self._transport is None:
            raise ConnectionError("the manager closed the connection")
        self._begin()
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)


class Connections:
    """As many as there are requests at once, each kept for the next. Use as an async context manager."""

    def __init__(self, base: str, key: str = "") -> None:
        """`base` is http://HOST:PORT. Raises InputError for another form."""
        parts = urllib.parse.urlsplit(base)
        if parts.scheme != "http" or not parts.hostname or parts.path.strip("/"):
            raise InputError(f"address must be http://HOST:PORT; got {base!r:.120}")
        self.base, self._host, self._port = base.rstrip("/"), parts.hostname, parts.port or 80
        authorization = f"Authorization: Bearer {key}\r\n" if key else ""
        self._head = f"Host: {parts.netloc}\r\n{authorization}".encode()
        self._free: list[_Line] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for line in self._free:
            line.close()
        self._free.clear()

    async def request(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        """Status and body. Raises OSError when there is no whole answer; cancelled, its connection is closed."""
        head = f"{method} {path} HTTP/1.1\r\n".encode() + self._head
        if body is not None:
            head += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        else:
            head += b"\r\n"
        line = await self._line()
        try:
            answer = await line.ask(head)
        except BaseException:
            line.close()
            raise
        if line.reusable:
            self._free.append(line)
        else:
            line.close()
        return answer

    async def _line(self) -> _Line:
        while self._free:
            line = self._free.pop()
            if line.reusable:
                return line
        try:
            async with asyncio.timeout(CONNECT_S):
                loop = asyncio.get_running_loop()
                return (await loop.create_connection(_Line, self._host, self._port))[1]
        except TimeoutError as error:
            raise ConnectionError(f"{self.base} accepts no connection") from error
