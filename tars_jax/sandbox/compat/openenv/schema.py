"""What the server says of itself in OpenAPI's form, from which clients read the mode and the version."""

from __future__ import annotations

from typing import Any

from tars_jax.sandbox.compat.openenv.episodes import OBJECT, Description

VERSION = "1.0.0"  # of OpenEnv's HTTP profile


def openapi(description: Description) -> dict[str, Any]:
    """All of reset, step and state are there: simulation, as OpenEnv calls it."""
    schemas = description.schemas()
    result = {
        "type": "object",
        "required": ["observation", "done"],
        "properties": {
            "observation": schemas["observation"], "reward": {"type": ["number", "null"]},
            "done": {"type": "boolean"}, "metadata": {"type": ["object", "null"]},
        },
    }  # fmt: skip
    step = {
        "type": "object",
        "required": ["action"],
        "properties": {"action": schemas["action"], "timeout_s": {"type": ["number", "null"]}},
    }
    reset = {
        "type": "object",
        "properties": {"seed": {"type": ["integer", "null"]}, "episode_id": {"type": ["string", "null"]}},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": description.name, "version": VERSION, "description": description.description},
        "paths": {
            "/health": {"get": _operation("Whether the server answers", OBJECT)},
            "/metadata": {"get": _operation("Name and description", OBJECT)},
            "/schema": {"get": _operation("Schemas of actions, observations and the state", OBJECT)},
            "/reset": {"post": _operation("Begins an episode", result, reset)},
            "/step": {"post": _operation("Carries out an action", result, step)},
            "/state": {"get": _operation("The running episode", schemas["state"])},
            "/mcp": {"post": _operation("JSON-RPC", OBJECT, OBJECT)},
        },
    }


def _operation(summary: str, answer: Any, body: Any = None) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": summary,
        "responses": {"200": {"description": "Done", "content": {"application/json": {"schema": answer}}}},
    }
    if body is not None:
        operation["requestBody"] = {"content": {"application/json": {"schema": body}}}
    return operation
