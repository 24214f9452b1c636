"""/v1/mcp: the MCP servers that run inside the computer, their tools, and calls of them."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tars_jax.sandbox.compat.aio.answers import Failed, answer, answering
from tars_jax.sandbox.tools.forms import ToolResult
from tars_jax.web.gate import read_fields


class HasMcpTools(Protocol):
    """A `ForeignServer`, whose library is an extra."""

    @property
    def spec(self) -> Any: ...

    @property
    def tools(self) -> Sequence[Any]: ...

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult: ...


class McpRoutes:
    def __init__(self, servers: Sequence[HasMcpTools]) -> None:
        self._servers = {server.spec.name: server for server in servers}

    def routes(self) -> list[Route]:
        return [
            Route("/v1/mcp/servers", answering(self.servers), methods=["GET"]),
            Route("/v1/mcp/{server}/tools", answering(self.tools), methods=["GET"]),
            Route("/v1/mcp/{server}/tools/{tool}", answering(self.call), methods=["POST"]),
        ]

    async def servers(self, request: Request) -> Response:
        return answer(list(self._servers))

    async def tools(self, request: Request) -> Response:
        told = [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in self._named(request).tools]
        return answer({"tools": told})

    async def call(self, request: Request) -> Response:
        server, tool = self._named(request), request.path_params["tool"]
        if tool not in {each.name for each in server.tools}:
            raise Failed(404, f"there is no tool {tool!r:.200} of the server {server.spec.name!r}")
        said = await server.call(tool, (await read_fields(request)).values)
        images = [
            {"type": "image", "data": base64.b64encode(image).decode(), "mimeType": "image/png"}
            for image in said.images
        ]
        return answer({"content": [{"type": "text", "text": said.text}, *images], "isError": said.failed})

    def _named(self, request: Request) -> HasMcpTools:
        name = request.path_params["server"]
        if name not in self._servers:
            known = ", ".join(self._servers) or "none"
            raise Failed(404, f"server must be one of {known}; got {name!r:.200}")
        return self._servers[name]
