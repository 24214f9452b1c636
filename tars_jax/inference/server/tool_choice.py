"""`tool_choice`: an answer that has to be a call of a tool is sampled under a constraint, compiled from its schema."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from outlines_core import json_schema

from tars_jax import InputError
from tars_jax.inference.server.constraints import ServedConstraints
from tars_jax.web.protocol import RequestError

_BLANK = "[ ]?"  # that may stand between the parts of a JSON value


@contextlib.asynccontextmanager
async def tool_constraint(
    constraints: ServedConstraints, tools: Sequence[Mapping[str, Any]]
) -> AsyncIterator[str | None]:
    """The name of the constraint under which an answer calls one of the tools, for as long as the block runs; None
    without tools. Each choice of tools is compiled once.

    Raises RequestError for a schema that cannot be compiled, and where there is no room just now.
    """
    if not tools:
        yield None
        return
    written = json.dumps(tools, sort_keys=True)
    name = f"tools:{hashlib.sha256(written.encode()).hexdigest()[:16]}"
    async with contextlib.AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(constraints.passing(name, lambda: call_pattern(tools)))
        except InputError as error:
            raise RequestError(f"tools must have schemas that can be compiled; {error}", "tools") from error
        yield name


def call_pattern(tools: Sequence[Mapping[str, Any]]) -> str:
    """A call of one of the tools, as `tool_calls.py` reads it. Raises InputError for a schema beyond the compiler."""
    calls = []
    for tool in tools:
        function = tool["function"]
        schema = dict(function.get("parameters") or {})
        if schema.get("type", "object") == "object" and not schema.keys() & {"properties", "anyOf", "oneOf", "allOf"}:
            schema = {"type": "object", "properties": {}}  # a tool without parameters is called without arguments
        try:
            arguments = json_schema.build_regex_from_schema(json.dumps(schema), _BLANK)
        except (ValueError, TypeError, OverflowError) as error:
            raise InputError(f"{function['name']}: {str(error)[:200]}") from error
        calls.append(rf'\{{"name": "{re.escape(function["name"])}", "arguments": {arguments}\}}')
    return rf"<tool_call>\n({'|'.join(calls)})\n</tool_call>"
