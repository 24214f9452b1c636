"""Doors by which clients of others drive a session's computer: AIO Sandbox, SWE-ReX, and MCP."""

from __future__ import annotations

import importlib.util

from tars_jax.sandbox.compat.aio import aio_app
from tars_jax.sandbox.compat.swe_rex import swe_rex_app
from tars_jax.sandbox.service.gateway.doors import Door


def api_doors() -> dict[str, Door]:
    """By their names in /s/ID/NAME/. The gateway has let the client in. MCP takes the extra `mcp`."""
    doors: dict[str, Door] = {
        "aio": lambda session: aio_app(session.computer.machine, None),
        "swe_rex": lambda session: swe_rex_app(session.computer.machine, None),
    }
    if importlib.util.find_spec("mcp") is not None:
        from tars_jax.sandbox.service.gateway.mcp_door import McpDoor

        doors["mcp"] = McpDoor
    return doors
