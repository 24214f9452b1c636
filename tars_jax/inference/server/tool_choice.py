"""`tool_choice`: an answer that has to be a call of a tool is sampled under a constraint, compiled from its schema.

Each choice of tools is compiled once, and its table is kept behind those that the engine has. Where there are too many,
the table begins anew as soon as no such answer is under way.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from outlines_core import json_schema

from tars_jax import InputError
from tars_jax.inference.constraint import Constraints, Spelling, extend_constraints, unconstrained
from tars_jax.inference.engine import Engine
from tars_jax.web.protocol import RequestError, busy

MOST_STATES = 1 << 15
_BLANK = "[ ]?"  # that may stand between the parts of a JSON value


class ToolChoices:
    """The constraints of one server's requests."""

    def __init__(self, engine: Engine, stop: int, token_bytes: Callable[[], Mapping[int, bytes]] | None) -> None:
        """`token_bytes`: what each token stands for; None where nobody knows."""
        self._engine, self._stop, self._token_bytes = engine, stop, token_bytes
        self._first = engine.constraints
        self._spelling: Spelling | None = None
        self._changing = asyncio.Lock()
        self._under_way = 0

    @contextlib.asynccontextmanager
    async def constraint(self, tools: Sequence[Mapping[str, Any]]) -> AsyncIterator[str | None]:
        """The name of the constraint under which an answer calls one of the tools, for as long as the block runs; None
        without tools.

        Raises RequestError for a schema that cannot be compiled, and where there is no room just now.
        """
        if not tools:
            yield None
            return
        if self._token_bytes is None:
            words = "tool_choice must be none or auto, as this server does not know what its tokens stand for"
            raise RequestError(words, "tool_choice")
        self._under_way += 1
        try:
            yield await self._known(tools)
        finally:
            self._under_way -= 1

    async def _known(self, tools: Sequence[Mapping[str, Any]]) -> str:
        written = json.dumps(tools, sort_keys=True)
        name = f"tools:{hashlib.sha256(written.encode()).hexdigest()[:16]}"
        async with self._changing:
            constraints = self._engine.constraints
            if constraints is not None and name in constraints.start:
                return name
            if constraints is not None and len(constraints.next_state) > MOST_STATES:
                if self._under_way > 1:
                    raise busy("other tools are called just now; ask again")
                constraints = self._first
            try:
                grown = await asyncio.to_thread(self._grown, constraints, name, tools)
            except InputError as error:
                raise RequestError(f"tools must have schemas that can be compiled; {error}", "tools") from error
            self._engine.set_constraints(grown)
        return name

    def _grown(self, constraints: Constraints | None, name: str, tools: Sequence[Mapping[str, Any]]) -> Constraints:
        assert self._token_bytes is not None
        vocabulary = self._engine.model.vocabulary
        if self._spelling is None:
            self._spelling = Spelling.of(self._token_bytes(), self._stop, vocabulary)
        return extend_constraints(constraints or unconstrained(vocabulary), {name: call_pattern(tools)}, self._spelling)


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
