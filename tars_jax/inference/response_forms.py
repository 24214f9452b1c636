"""Forms in which a policy uses the tools of OpenAI's responses: its prompt, and its text as words and calls, and
back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from tars_jax.inference.tool_calls import is_tool_name, split_calls
from tars_jax.web.protocol import RequestError, RequestFields

SCREEN_TOOLS = ("computer", "computer_use_preview")

NOTHING: dict[str, Any] = {"type": "object", "properties": {}}  # what a function without parameters takes

Size = tuple[int, int]  # width and height of the display, in pixels


class Told(Protocol):
    """Preamble that tells a policy what it can call."""

    @property
    def system(self) -> str: ...

    @property
    def before(self) -> str: ...

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]: ...


class Heard(NamedTuple):
    """An answer, taken apart. Calls are `{"actions": [...]}` of the computer tool, or `{"name", "arguments"}`."""

    thought: str = ""
    words: str = ""
    calls: tuple[dict[str, Any], ...] = ()


class ComputerToolForm(Protocol):
    """A policy's form of the computer tool (`tars_jax.agent.computer_form`). Tools are as chat completions have
    them."""

    def told(self, environment: str, tools: Sequence[Mapping[str, Any]], *, screen: bool) -> Told: ...

    def read(self, text: str, tools: Sequence[Mapping[str, Any]], size: Size | None) -> tuple[str, str, Any]: ...

    def write(self, heard: Any, tools: Sequence[Mapping[str, Any]], size: Size | None) -> str: ...


class WordsAlone:
    """The form of a policy without a screen: its calls are those of chat completions."""

    def told(self, environment: str, tools: Sequence[Mapping[str, Any]], *, screen: bool) -> Told:
        if screen:
            raise RequestError("tools must be functions, as this policy has no computer tool; got computer", "tools")
        return _Listed(tools=tools)

    def read(self, text: str, tools: Sequence[Mapping[str, Any]], size: Size | None) -> tuple[str, str, Any]:
        words, calls = split_calls(text) if tools else (text, [])
        return "", words, tuple(dict(call["function"]) for call in calls)

    def write(self, heard: Heard, tools: Sequence[Mapping[str, Any]], size: Size | None) -> str:
        calls = (
            f'<tool_call>\n{{"name": "{call["name"]}", "arguments": {call["arguments"] or "{}"}}}\n</tool_call>'
            for call in heard.calls
        )
        return "\n".join(filter(None, (heard.words, *calls)))


@dataclasses.dataclass(frozen=True)
class _Listed:
    tools: Sequence[Mapping[str, Any]]
    system: str = ""
    before: str = ""


@dataclasses.dataclass(frozen=True)
class Tools:
    """The field `tools` of a request."""

    given: tuple[dict[str, Any], ...]  # as they came
    functions: tuple[dict[str, Any], ...]  # those that are functions, as chat completions have them
    screen: str = ""  # the type of the computer tool; empty: there is none
    environment: str = ""
    display: Size | None = None  # as a preview's tool states it


def parse_response_tools(fields: RequestFields) -> Tools:
    """Raises RequestError for a tool that is neither a function nor the computer tool, and for two of the latter."""
    functions: list[dict[str, Any]] = []
    screen, environment, display = "", "", None
    given = fields.array("tools")
    for index, tool in enumerate(given):
        each = RequestFields(tool, fields.param(f"tools[{index}]"))
        kind = each.text("type")
        if kind == "function":
            function: dict[str, Any] = {"name": each.text("name")}
            if not is_tool_name(function["name"]):
                raise each.error("name", "1 to 64 letters, digits and . _ -")
            if (about := each.optional_text("description")) is not None:
                function["description"] = about
            if not isinstance(parameters := each.value("parameters"), dict | None):
                raise each.error("parameters", "a JSON schema of an object")
            functions.append({"type": "function", "function": {**function, "parameters": parameters or dict(NOTHING)}})
            each.flag("strict")
        elif kind in SCREEN_TOOLS and not screen:
            screen, environment = kind, each.text("environment", "")
            width, height = (each.integer(f"display_{side}", None, 1, 1 << 15) for side in ("width", "height"))
            display = None if width is None or height is None else (width, height)
        else:
            raise each.error("type", f"function, or one of {', '.join(SCREEN_TOOLS)} once")
        each.done()
    return Tools(tuple(given), tuple(functions), screen, environment, display)
