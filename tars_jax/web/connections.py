"""Kept connections to one HTTP server, for clients that ask it often: h11 over asyncio's streams and no more.

httpx looks at every connection of its pool for each request: with 64 of them a turn took 3.4 ms of the client's
processor, here .5. This one takes the next free connection. Whatever goes wrong is an OSError, and the connection is
closed: cancelling a request closes it as well, which tells the server.
"""

from __future__ import annotations

import asyncio
import dataclasses
import urllib.parse
from collections.abc import Mapping
from typing import Self

import h11

CONNECT_SECONDS = 10.0
PIECE = 1 << 16


@dataclasses.dataclass(frozen=True)
class Received:
    """A response."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes


@dataclasses.dataclass
class _Line:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    state: h11.Connection


class Connections:
    """As many as there are requests at once; each is kept for the next one. Use as an async context manager."""

    def __init__(self, base: str, headers: Mapping[str, str]) -> None:
        """`base` is http://HOST:PORT or https://HOST, with a path or without; `headers` go with every request."""
        parts = urllib.parse.urlsplit(base)
        self._secure, self._path = parts.scheme == "https", parts.path.rstrip("/")
        self._host, self._port = parts.hostname or "", parts.port or (443 if self._secure else 80)
        self._headers = [("Host", parts.netloc.rpartition("@")[2]), *headers.items()]
        self._free: list[_Line] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for line in self._free:
            line.writer.close()
        self._free.clear()

    async def request(self, method: str, path: str, body: bytes | None = None) -> Received:
        """Raises OSError when there is no whole response."""
        line = await self._line()
        try:
            received = await self._exchange(line, method, path, body)
        except h11.ProtocolError as error:
            line.writer.close()
            raise ConnectionError(f"{self._host}:{self._port} broke off: {error}") from error
        except BaseException:
            line.writer.close()
            raise
        if line.state.our_state is line.state.their_state is h11.DONE:
            line.state.start_next_cycle()
            self._free.append(line)
        else:
            line.writer.close()  # the server wants no further request on it
        return received

    async def _line(self) -> _Line:
        while self._free:
            line = self._free.pop()
            if not line.reader.at_eof():
                return line
            line.writer.close()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                reader, writer = await asyncio.open_connection(self._host, self._port, ssl=self._secure or None)
        except TimeoutError as error:
            raise ConnectionError(f"{self._host}:{self._port} accepts no connection") from error
        return _Line(reader, writer, h11.Connection(h11.CLIENT))

    async def _exchange(self, line: _Line, method: str, path: str, body: bytes | None) -> Received:
        headers = list(self._headers)
        if body is not None:
            headers += [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        sent = [line.state.send(h11.Request(method=method, target=self._path + path, headers=headers))]
        if body is not None:
            sent.append(line.state.send(h11.Data(data=body)))
        sent.append(line.state.send(h11.EndOfMessage()))
        line.writer.write(b"".join(piece for piece in sent if piece))
        await line.writer.drain()
        response: h11.Response | None = None
        pieces: list[bytes] = []
        while True:
            event = line.state.next_event()
            if event is h11.NEED_DATA:
                line.state.receive_data(await line.reader.read(PIECE))
            elif isinstance(event, h11.Response):
                response = event
            elif isinstance(event, h11.Data):
                pieces.append(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage):
                break
            elif isinstance(event, h11.ConnectionClosed):
                raise ConnectionError(f"{self._host}:{self._port} closed the connection")
        assert response is not None
        named = {name.decode("latin-1"): value.decode("latin-1") for name, value in response.headers}
        return Received(response.status_code, named, b"".join(pieces))
