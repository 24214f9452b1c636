"""Requests for a session passed on to the node that has it, and the answers back: HTTP and WebSockets.

Node and client see what the other wrote, but for headers of one connection and those that say for whom a request is.
"""

from __future__ import annotations

import asyncio
import contextlib
import urllib.parse
from collections.abc import Iterable

from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.gateway.headers import HOP, WEBSOCKET, Headers, named_by
from tars_jax.sandbox.service.gateway.http_proxy import HttpProxy
from tars_jax.sandbox.service.gateway.socket_proxy import InsideSocket, both_ways
from tars_jax.sandbox.service.nodes.delegation import HEADER, to_header
from tars_jax.web.protocol import RequestError

CONNECT_S = 10.0
BROKEN = ("no_answer", "no_socket")  # codes of what proxies raise when the other side gave no whole answer


async def pass_on(scope: Scope, receive: Receive, send: Send, address: str, owner: str | None, key: str) -> None:
    """`owner`: whose key was seen; None: nobody's.

    Raises SandboxFailure("node") when the node does not answer; behind the answer's beginning it is broken off.
    """
    headers = [*_passed(scope["headers"]), to_header(owner, key)]
    query = scope["query_string"]
    path: bytes = scope["raw_path"] + (b"?" + query if query else b"")
    try:
        streams = await _connect(address)
    except OSError as error:
        raise SandboxFailure("node", f"{address} does not answer: {error}") from error
    try:
        if scope["type"] == "websocket":
            await _socket(scope, receive, send, streams, path, headers)
        else:
            await HttpProxy(streams, _to_client, lambda: None).exchange(scope, path, headers, receive, send)
    except RequestError as error:
        if error.code not in BROKEN:
            raise
        raise SandboxFailure("node", f"{address} broke off: {error}") from error
    finally:
        streams[1].close()


async def _socket(
    scope: Scope, receive: Receive, send: Send, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    path: bytes, headers: Headers,
) -> None:  # fmt: skip
    socket = WebSocket(scope, receive, send)
    try:
        inside = InsideSocket(streams, socket.headers.get("host", "localhost"), scope.get("subprotocols", []))
    except ValueError as error:
        raise RequestError(f"Host must be a host's name; got {error}") from error
    chosen = await inside.open(path, [each for each in headers if not WEBSOCKET.fullmatch(each[0])])
    await socket.accept(chosen)
    await both_ways(socket, inside, lambda: None)


def again(body: bytes, receive: Receive) -> Receive:
    """A body that was read, once more."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def message() -> Message:
        return first.pop() if first else await receive()

    return message


async def _connect(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    parts = urllib.parse.urlsplit(address)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(CONNECT_S):
            return await asyncio.open_connection(parts.hostname, parts.port)
    raise ConnectionError("it accepts no connection")


def _passed(headers: Headers) -> Headers:
    own = named_by(headers) | HOP | {HEADER}
    return [(name.lower(), value) for name, value in headers if name.lower() not in own]


def _to_client(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    given = [(name.lower(), value) for name, value in headers]
    own = named_by(given) | HOP | {b"date", b"server"}
    return [each for each in given if each[0] not in own]
