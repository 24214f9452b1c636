"""`tool_choice` and `response_format`: an answer that has to be a call of a tool, or JSON.

It is sampled under a constraint, a regular expression that is made of JSON schemas. Each form is compiled once.
"""

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
from tars_jax.inference.server.schema_checks import check_schema
from tars_jax.web.protocol import RequestError

_BLANK = "[ ]?"  # that may stand between the parts of a JSON value
_OPEN_OBJECT = {"properties", "anyOf", "oneOf", "allOf", "$ref"}  # an object that says none of them is any object


@contextlib.asynccontextmanager
async def answer_form(
    constraints: ServedConstraints, tools: Sequence[Mapping[str, Any]], schema: Mapping[str, Any] | None
) -> AsyncIterator[str | None]:
    """The name of the constraint under which an answer has its form, for as long as the block runs; None where it may
    say what it likes.

    Args:
      tools: of which it may call one.
      schema: of the JSON that it may be instead.

    Raises RequestError for a schema that cannot be compiled, and where there is no room just now.
    """
    if not tools and schema is None:
        yield None
        return
    asks, has = ("tool_choice", "tools") if schema is None else ("response_format", "response_format")
    written = json.dumps([tools, schema], sort_keys=True)
    name = f"form:{hashlib.sha256(written.encode()).hexdigest()[:16]}"
    async with contextlib.AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(constraints.passing(name, lambda: form_pattern(tools, schema), asks))
        except InputError as error:
            raise RequestError(f"{has} must have schemas that can be compiled; {error}", has) from error
        yield name


def form_pattern(tools: Sequence[Mapping[str, Any]], schema: Mapping[str, Any] | None) -> str:
    """A call of one of the tools, as `tool_calls.py` reads it, or JSON of the schema. Raises InputError for a schema
    beyond the compiler."""
    forms = [] if schema is None else [_json_pattern(schema, "response_format")]
    if tools:
        calls = []
        for tool in tools:
            function = tool["function"]
            parameters = dict(function.get("parameters") or {})
            if parameters.get("type", "object") == "object" and not parameters.keys() & _OPEN_OBJECT:
                parameters = {"type": "object", "properties": {}}  # a tool without parameters is called without any
            arguments = _json_pattern(parameters, function["name"])
            calls.append(rf'\{{"name": "{re.escape(function["name"])}", "arguments": {arguments}\}}')
        forms.append(rf"<tool_call>\n({'|'.join(calls)})\n</tool_call>")
    return "|".join(f"({form})" for form in forms)


def _json_pattern(schema: Mapping[str, Any], place: str) -> str:
    try:
        check_schema(schema)
        return str(json_schema.build_regex_from_schema(json.dumps(schema), _BLANK))
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise InputError(f"{place}: {str(error)[:200]}") from error
