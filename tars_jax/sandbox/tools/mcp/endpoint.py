"""One address for each session's MCP server, /s/ID/mcp, by streamable HTTP: an ASGI application.

Both revisions of the protocol are served: with sessions of its own (until 2025-11-25) and without (2026-07-28). What a
computer holds does not hang on either, so a client that comes again finds it as it was.
"""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import Sequence
from typing import Any, Self

from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from tars_jax import InputError
from tars_jax.web.protocol import RequestError
from tars_jax.web.responses import error_response

LARGEST_BODY = 16 << 20  # bytes
MOST_CLIENTS = 64  # of one session, of the revision that has sessions
IDLE_S = 1800.0  # until such a client is forgotten
GONE = "tars_jax.gone"  # in a request's scope: an event, of its client's end
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_PATH = re.compile(r"/s/([A-Za-z0-9_-]{1,128})/mcp/?")


class McpServing:
    """One server by streamable HTTP, `handle`, behind whoever lets clients in.

    The library's manager lives in a task of its own, as it must end in the one that it began in.
    """

    def __init__(self, server: Server[Any], security: TransportSecuritySettings | None = None) -> None:
        self.manager = StreamableHTTPSessionManager(
            server, security_settings=security, session_idle_timeout=IDLE_S, max_request_body_size=LARGEST_BODY,
            max_sessions=MOST_CLIENTS,
        )  # fmt: skip
        self._end = asyncio.Event()

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A request that was let in. Blanks around the values of its headers are none of them (RFC 9110, 5.5), and not
        every server of HTTP takes them off.
        """
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        gone = asyncio.Event()

        async def heard() -> Message:
            if (message := await receive())["type"] == "http.disconnect":
                gone.set()
            return message

        await self.manager.handle_request({**scope, "headers": headers, GONE: gone}, heard, send)

    async def begin(self) -> None:
        ready = asyncio.get_running_loop().create_future()
        self._living = asyncio.create_task(self._live(ready))
        await ready

    async def _live(self, ready: asyncio.Future[None]) -> None:
        async with self.manager.run():
            ready.set_result(None)
            await self._end.wait()

    async def end(self) -> None:
        self._end.set()
        await self._living


class McpEndpoint:
    """`add` sessions to it. Use as an async context manager, on the event loop that serves it."""

    def __init__(self, hosts: Sequence[str] = (), origins: Sequence[str] = ()) -> None:
        """`hosts`: names, as in Host headers, besides those of loopback; "name:*" is any port.

        `origins`: addresses of the pages that may call, besides those that loopback serves.
        """
        self._security = TransportSecuritySettings(
            allowed_hosts=[*_LOOPBACK, *(f"{name}:*" for name in _LOOPBACK), *hosts],
            allowed_origins=[*(f"http://{name}{port}" for name in _LOOPBACK for port in ("", ":*")), *origins],
        )
        self._sessions: dict[str, tuple[McpServing, str]] = {}  # with the token of each

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for id in list(self._sessions):
            await self.remove(id)

    async def add(self, id: str, server: Server[Any], token: str) -> str:
        """The path of its address. Raises InputError for an id that no path can have, or that is there."""
        path = f"/s/{id}/mcp"
        if not _PATH.fullmatch(path) or id in self._sessions:
            raise InputError(f"a session's id must be new, of letters, digits, _ and -; got {id!r:.80}")
        if not token:
            raise InputError("a session's token must be a text; got an empty one")
        serving = McpServing(server, self._security)
        await serving.begin()
        self._sessions[id] = serving, token
        return path

    async def remove(self, id: str) -> None:
        """Ends its connections. One that is not there is nobody's mistake."""
        if session := self._sessions.pop(id, None):
            await session[0].end()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            serving = self._admitted(scope)
        except RequestError as error:
            await error_response(error)(scope, receive, send)
            return
        await serving.handle(scope, receive, send)

    def _admitted(self, scope: Scope) -> McpServing:
        match = _PATH.fullmatch(scope["path"])
        session = self._sessions.get(match[1]) if match else None
        if session is None:
            raise RequestError("there is no such session here", status=404)
        serving, token = session
        kind, _, given = Headers(scope=scope).get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), token.encode()):
            headers = {"WWW-Authenticate": "Bearer"}
            raise RequestError("the session's token must be given as a bearer", status=401, headers=headers)
        return serving
