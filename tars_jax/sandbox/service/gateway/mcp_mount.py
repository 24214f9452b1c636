"""A session's computer as an MCP server, at /s/ID/mcp/: its own functions, and the tools of servers inside."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Receive, Scope, Send

from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.computers.session import ComputerSession
from tars_jax.sandbox.tools.forms import ToolResult
from tars_jax.sandbox.tools.mcp.endpoint import McpServing
from tars_jax.sandbox.tools.mcp.tool_server import ComputerServer


class McpMount:
    """Begins with its first request, and ends with the session. The gateway checks Host, Origin and token."""

    def __init__(self, session: ComputerSession) -> None:
        tools = session.tools
        self._computer = ComputerServer(
            session.computer.machine,
            more=() if tools is None else tools.tools.functions,
            call_more=self._call_more,
            seen=session.show,
        )
        self._session = session
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        self._serving = McpServing(self._computer.server, security)
        self._begun = asyncio.create_task(self._serving.begin())
        self._ending: asyncio.Task[None] | None = None
        session.tell_end(self._end)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008, "reason": "MCP is spoken over HTTP here"})
            return
        await asyncio.shield(self._begun)
        await self._serving.handle(scope, receive, send)

    async def _call_more(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        if (part := self._session.tools) is None:
            raise SandboxFailure("container", "the session has ended")
        return await part.tools.call(name, arguments)

    def _end(self) -> None:
        self._ending = asyncio.create_task(self._close())

    async def _close(self) -> None:
        await self._begun
        await self._serving.end()
        await self._computer.tools.close()
