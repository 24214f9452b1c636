"""What a client asks of a session, passed on to the node that has it, and the answer back: HTTP and WebSockets.

Node and client see what the other wrote, but for headers of one connection and those that say for whom a request is.
"""

from __future__ import annotations

import asyncio
import contextlib
import urllib.parse
from collections.abc import Iterable

from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.gateway.headers import HOP, WEBSOCKET, Headers, named_by
from tars_jax.sandbox.service.gateway.http_proxy import HttpProxy
from tars_jax.sandbox.service.gateway.socket_proxy import InsideSocket, both_ways
from tars_jax.sandbox.service.nodes.behalf import HEADER, Behalf, to_header
from tars_jax.web.connections import Connections, Received
from tars_jax.web.protocol import RequestError

CONNECT_S = 10.0
ASK_S = 60.0
BROKEN = ("no_answer", "no_socket")  # codes of what proxies raise when the other side gave no whole answer


async def pass_on(scope: Scope, receive: Receive, send: Send, address: str, behalf: Behalf, key: str) -> None:
    """Raises SandboxFailure("node") when the node does not answer; behind the answer's beginning it is broken off."""
    headers = [*_passed(scope["headers"]), to_header(behalf, key)]
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


async def ask(
    address: str, method: str, path: str, behalf: Behalf, key: str, body: bytes | None = None, token: str = ""
) -> Received:
    """A request of the manager's own. Raises SandboxFailure("node") without an answer."""
    name, value = to_header(behalf, key)
    headers = {name.decode(): value.decode(), **({"Authorization": f"Bearer {token}"} if token else {})}
    try:
        async with asyncio.timeout(ASK_S), Connections(address, headers) as connections:
            return await connections.request(method, path, body)
    except (OSError, TimeoutError) as error:
        raise SandboxFailure("node", f"{address} does not answer: {error or type(error).__name__}") from error


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
