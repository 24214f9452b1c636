"""Kept connections: what servers answer, whole, broken off or not asked for; and what a connection is kept for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from tars_jax.web.connections import Connections

HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CHUNKS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n"
CUT = b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhello"


@contextlib.asynccontextmanager
async def answering(answer: bytes, *, closes: bool) -> AsyncIterator[tuple[Connections, list[bytes]]]:
    """Connections to a server that gives this answer to each request, and the heads that it has read."""
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            heads.append(b"connected")
            while True:
                heads.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(answer)
                await writer.drain()
                if closes:
                    return

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        async with Connections(f"http://127.0.0.1:{port}/api/", {"Authorization": "Bearer key"}) as connections:
            yield connections, heads
    finally:
        server.close()


@pytest.mark.parametrize(
    ("answer", "closes", "status", "body", "kept"),
    [
        (HELLO, False, 200, b"hello", True),
        (CHUNKS + b"0\r\n\r\n", False, 200, b"hello", True),
        (b"HTTP/1.1 204 No Content\r\nX: y\r\n\r\n", False, 204, b"", True),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + HELLO, False, 200, b"hello", True),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", False, 200, b"hello", False),
        (b"HTTP/1.1 200 OK\r\n\r\nhello", True, 200, b"hello", False),  # its end is that of the connection
        (HELLO + HELLO, False, 200, b"hello", False),  # an answer that nobody has asked for
    ],
)  # fmt: skip
def test_answers(answer: bytes, closes: bool, status: int, body: bytes, kept: bool) -> None:
    async def scenario() -> None:
        async with answering(answer, closes=closes) as (connections, heads):
            for _ in range(2):
                received = await connections.request("POST", "/x", b"{}")
                assert (received.status, received.body) == (status, body)
            assert heads.count(b"connected") == (1 if kept else 2)
            assert heads[1].startswith(b"POST /api/x HTTP/1.1\r\nHost: 127.0.0.1:")
            assert b"\r\nAuthorization: Bearer key\r\n" in heads[1] and b"\r\nContent-Length: 2\r\n" in heads[1]

    asyncio.run(scenario())


def test_headers_are_those_of_one_request_and_its_answer() -> None:
    async def scenario() -> None:
        other = b"HTTP/1.1 204 No Content\r\nX: y\r\n\r\n"  # that nobody has asked for
        async with answering(HELLO + other, closes=False) as (connections, heads):
            received = await connections.request("GET", "/x", headers={"For": "ann"})
            await connections.request("GET", "/x")
            assert received.headers == {"content-length": "5"}
            sent = [head for head in heads if head != b"connected"]
            assert [b"\r\nFor: ann\r\n" in head for head in sent] == [True, False]

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-",
        CUT,
        CHUNKS,
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
    ],
)
def test_what_is_no_whole_answer_is_an_oserror(answer: bytes) -> None:
    async def scenario() -> None:
        async with answering(answer, closes=True) as (connections, _):
            with pytest.raises(OSError, match=r"127\.0\.0\.1:\d+ (closed the connection|broke off)"):
                await connections.request("GET", "/x")

    asyncio.run(scenario())


def test_a_request_that_is_cancelled_closes_its_connection() -> None:
    async def scenario() -> None:
        async with answering(CUT, closes=False) as (
            connections,
            heads,
        ):
            for count in (1, 2):
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.1):
                        await connections.request("GET", "/x")
                assert heads.count(b"connected") == count

    asyncio.run(scenario())
