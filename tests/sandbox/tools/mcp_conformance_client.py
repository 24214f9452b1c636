"""Our client of MCP servers for the conformance suite: python -m tests.sandbox.tools.mcp_conformance_client ADDRESS

The suite starts it once for each scenario, with a server of its own: all of its tools are called, as an agent would.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tars_jax import InputError
from tars_jax.sandbox.computer.local_guest import LocalGuest
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.tools.mcp.foreign import ForeignServer
from tars_jax.sandbox.tools.mcp.spec import ServerSpec

VALUES: Mapping[str, Any] = {"string": "text", "number": 5, "integer": 3, "boolean": True, "array": [], "object": {}}


def arguments(schema: Mapping[str, Any], first: Mapping[str, Any]) -> dict[str, Any]:
    """Something for each parameter that has a plain type; for `schema`, that of the first tool."""
    properties = schema.get("properties", {})
    plain = {
        name: one["type"] for name, one in properties.items() if isinstance(one, dict) and one.get("type") in VALUES
    }
    return {name: first if name == "schema" else VALUES[kind] for name, kind in plain.items()}


async def main(address: str) -> None:
    place = urlsplit(address)
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    spec = ServerSpec("suite", port=place.port or 80, path=place.path or "/", start_s=20, call_s=20)
    with tempfile.TemporaryDirectory() as folder:
        async with LocalGuest(Path(folder, "home"), Path(folder, "s")) as guest:
            server = ForeignServer(guest.machine, spec)
            await server.start()
            given = [(each["name"], each["arguments"]) for each in context.get("toolCalls", ())]
            first = server.tools[0].input_schema if server.tools else {}
            calls = given or [(tool.name, arguments(tool.input_schema, first)) for tool in server.tools]
            for name, values in calls:
                print(name, values, "->", (await server.call(name, values)).text[:200])
            await server.close()


if __name__ == "__main__":
    try:
        asyncio.run(main(sys.argv[1]))
    except (InputError, SandboxFailure) as error:
        sys.exit(str(error))
