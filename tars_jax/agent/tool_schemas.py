"""Tool schemas of an action space, for endpoints that call by JSON: names, words, JSON schemas.

GUI actions take a point as [x, y], on the grid of 0..1000 or in pixels of the screenshot; everything else is text or a
number, as the grammars have it. Functions keep their own schemas.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from tars_jax.agent.actions import BUTTONS, DIRECTIONS, FUNCTIONS, GRID, MAX_WAIT_SECONDS, Finished, Scroll
from tars_jax.agent.calls import parameter_of_field
from tars_jax.agent.computer_tool import COMPUTER_TOOLS
from tars_jax.agent.platform_prompt import EXAMPLES, introduction
from tars_jax.environment import ActionSpace, Function

TEXT, NATIVE = "text", "native"
# How a policy behind an address says what it does: in a grammar of ours, by calls of tools, by OpenAI's computer tool.
TOOLS = (TEXT, NATIVE, *COMPUTER_TOOLS)
MOST_NAME = 64  # characters of a tool's name, and which they are: what endpoints take
_NOT_IN_NAMES = re.compile("[^A-Za-z0-9_-]")
_MEANINGS = {action.name: meaning for action, meaning in EXAMPLES}
_TEXTS = {
    "keys": "one key, or up to three held together, with spaces between them, such as: ctrl c",
    "key": "a key, such as: shift",
    "content": "the text",
    "app_name": "the app",
}


def tool_name(name: str) -> str:
    """The name of a function as endpoints take it, without points and of a bounded length."""
    return _NOT_IN_NAMES.sub("_", name)[:MOST_NAME] or "_"


def action_tools(
    space: ActionSpace, *, pixels: bool = False, without: frozenset[str] = frozenset()
) -> dict[str, Function]:
    """All that can be called, by the name that an endpoint is told; `without`: actions that it calls in another way.

    `Function.name` is the space's own name. Names that would be one for an endpoint are numbered.
    """
    found: dict[str, Function] = {}
    named = [_action(name, pixels) for name in space.actions if name not in without]
    for function in (*named, *space.functions):
        name, number = tool_name(function.name), 1
        while name in found:
            number += 1
            name = f"{tool_name(function.name)[: MOST_NAME - 4]}_{number}"
        found[name] = function
    return found


def chat_tools(functions: Mapping[str, Function]) -> list[dict[str, Any]]:
    """Functions as chat completions have them, by the names that `action_tools` gives."""
    return [
        {
            "type": "function",
            "function": {"name": name, "description": each.description, "parameters": dict(each.parameters)},
        }
        for name, each in functions.items()
    ]


def tools_prompt(space: ActionSpace, *, pixels: bool = False) -> str:
    """System prompt of a policy that calls tools: where it acts, how it points, and to say what it thinks."""
    ends = f" Call {Finished.name} when the task is done." if Finished.name in space.actions else ""
    return (
        f"{introduction(space, space.actions, pixels)} Act by calling the tools, in every answer; in its words say "
        f"briefly what you see and what you do next.{ends}"
    )


def _action(name: str, pixels: bool) -> Function:
    """A GUI action as a function."""
    kind = FUNCTIONS[name]
    fields = {parameter_of_field(field.name): field for field in dataclasses.fields(kind)}
    optional = [
        parameter
        for parameter, field in fields.items()
        if field.default is not dataclasses.MISSING or (kind is Scroll and parameter == "point")
    ]
    return Function(
        name,
        _MEANINGS[name],
        {
            "type": "object",
            "properties": {parameter: _schema(field.name, pixels) for parameter, field in fields.items()},
            "required": [parameter for parameter in fields if parameter not in optional],
        },
    )


def _schema(field: str, pixels: bool) -> Mapping[str, Any]:
    match field:
        case "point" | "start_point" | "end_point":
            scale = "in pixels of the screenshot" if pixels else f"from 0 to {GRID} over the width and the height"
            numbers = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
            return {**numbers, "description": f"[x, y] {scale}"}
        case "direction" | "button":
            return {"type": "string", "enum": list(DIRECTIONS if field == "direction" else BUTTONS)}
        case "seconds":
            return {"type": "number", "description": f"seconds, at most {MAX_WAIT_SECONDS:g}"}
    return {"type": "string", "description": _TEXTS[field]}
