"""Tools of a chat, as Qwen's open weights read and write them: listed in the system message, called in tags of JSON.

Also read is how the report's agent calls tools of MCP servers: a list of JSON in tags of its own, <mcp_env> around it.

The wording of the list is that of the chat template that Qwen3 is published with: the weights were trained on it.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from typing import Any

from tars_jax.json_fields import is_text
from tars_jax.web.protocol import RequestFields

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_TAGS = {_OPEN: _CLOSE, "<|FunctionCallBegin|>": "<|FunctionCallEnd|>", "<mcp_env>": "</mcp_env>"}
_LIST = re.compile(
    r"(?:<mcp_env>\s*)?(?:<\|FunctionCallBegin\|>)?(.*?)(?:<\|FunctionCallEnd\|>)?(?:\s*</mcp_env>)?", re.DOTALL
)
_CALL = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", re.DOTALL)
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def parse_tools(fields: RequestFields) -> tuple[dict[str, Any], ...]:
    """The field `tools` of a request, each as it was sent. Raises RequestError that names what is wrong."""
    tools = fields.array("tools")
    for index, tool in enumerate(tools):
        outer = RequestFields(tool, fields.param(f"tools[{index}]"))
        if outer.text("type") != "function":
            raise outer.error("type", "function")
        inner = RequestFields(outer.value("function"), outer.param("function"))
        if not is_tool_name(inner.text("name")):
            raise inner.error("name", "1 to 64 letters, digits and . _ -")
        inner.optional_text("description")
        if not isinstance(inner.value("parameters"), dict | None):
            raise inner.error("parameters", "a JSON schema of an object")
        inner.flag("strict")
        inner.done()
        outer.ignore(("cache_control",))
        outer.done()
        if not _is_written(tool):
            raise fields.error("tools", "functions of plain text that are not nested so deeply")
    return tuple(tools)


def is_tool_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def parse_tool_choice(fields: RequestFields, tools: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """The field `tool_choice`: the tools of which an answer has to call one; none where it need not.

    Raises RequestError for another form, and for a tool that is not among `tools`.
    """
    choice = fields.value("tool_choice")
    if choice in (None, "none", "auto"):
        return ()
    if fields.value("constraint") is not None:
        raise fields.error("tool_choice", "auto or none beside a constraint")
    if choice == "required" and tools:
        return tuple(tools)
    names = [tool["function"]["name"] for tool in tools]
    if isinstance(choice, dict) and choice.get("type") == "function":
        outer = RequestFields(choice, fields.param("tool_choice"))
        inner = RequestFields(outer.value("function"), outer.param("function"))
        if (name := inner.text("name")) not in names:
            raise inner.error("name", "one of tools")
        inner.done()
        outer.ignore(("type",))
        outer.done()
        return tuple(tool for tool in tools if tool["function"]["name"] == name)
    raise fields.error("tool_choice", "none, auto, required with tools, or a function of tools by its name")


def parse_calls(fields: RequestFields) -> str:
    """The field `tool_calls` of a message of the assistant, as the text that the model wrote them in."""
    calls = []
    for index, call in enumerate(fields.array("tool_calls")):
        outer = RequestFields(call, fields.param(f"tool_calls[{index}]"))
        outer.ignore(("id", "index"))
        if outer.text("type", "function") != "function":
            raise outer.error("type", "function")
        inner = RequestFields(outer.value("function"), outer.param("function"))
        name, arguments = inner.text("name"), _as_called(inner.text("arguments", "{}"))
        calls.append(f'<tool_call>\n{{"name": {_json(name)}, "arguments": {arguments}}}\n</tool_call>')
        inner.done()
        outer.done()
    return "\n".join(calls)


def _as_called(arguments: str) -> str:
    """Arguments as `_called` writes them: programs that read them send them back in a form of their own."""
    try:
        found = json.loads(arguments)
        return _json(found) if isinstance(found, dict) and _is_written(found) else arguments
    except (ValueError, RecursionError):
        return arguments


def list_tools(tools: Sequence[dict[str, Any]]) -> str:
    """Text of a system message that lists the tools, after its own words."""
    signatures = "\n".join(map(_json, tools))
    return (
        "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
        "You are provided with function signatures within <tools></tools> XML tags:\n"
        f"<tools>\n{signatures}\n</tools>\n\n"
        "For each function call, return a json object with function name and arguments within <tool_call></tool_call> "
        'XML tags:\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
    )


def split_calls(text: str) -> tuple[str, list[dict[str, Any]]]:
    """An answer as its words and its calls as OpenAI has them. What is no whole call stays words."""
    stream = CallStream()
    parts = [*stream.feed(text), *stream.finish()]
    words = "".join(part for part in parts if isinstance(part, str))
    return words, [part for part in parts if not isinstance(part, str)]


class CallStream:
    """Takes the calls out of an answer while it comes: nothing of what may become one is said as words.

    White space beside a call is no part of the words.
    """

    def __init__(self) -> None:
        self._held = ""
        self._said, self.called = False, False

    def feed(self, text: str) -> list[str | dict[str, Any]]:
        """Words and calls, in order, that have become certain."""
        self._held += text
        found: list[str | dict[str, Any]] = []
        while closed := self._closed():
            begin, end = closed
            calls = _called(self._held[begin:end])
            if not calls:
                found += self._words(self._held[:end])
            else:
                found += self._words(self._held[:begin].rstrip())
                found += calls
                self.called = True
            self._held = self._held[end:]
        certain = self._certain()
        found += self._words(self._held[:certain])
        self._held = self._held[certain:]
        return found

    def _closed(self) -> tuple[int, int] | None:
        """Beginning and end of the first closed call; of two openings, the later counts."""
        opened = [(begin, tag) for tag in _TAGS if (begin := self._held.find(tag)) >= 0]
        if not opened:
            return None
        opening = min(opened)[1]
        closing = _TAGS[opening]
        end = self._held.find(closing, min(opened)[0])
        if end < 0:
            return None
        return self._held.rfind(opening, 0, end), end + len(closing)

    def finish(self) -> list[str | dict[str, Any]]:
        """Returns the words and calls that were held back; nothing comes after them."""
        rest, self._held = self._held, ""
        return self._words(rest.rstrip() if self.called else rest)

    def _certain(self) -> int:
        """Number of held characters that are surely words: no call that has begun, nor what may begin one, nor white
        space before it."""
        begin = min((at for tag in _TAGS if (at := self._held.find(tag)) >= 0), default=-1)
        if begin < 0:
            begin = len(self._held) - max(_begun(self._held, tag) for tag in _TAGS)
        return len(self._held[:begin].rstrip())

    def _words(self, text: str) -> list[str | dict[str, Any]]:
        if self.called and not self._said:
            text = text.lstrip()
        self._said = self._said or bool(text)
        return [text] if text else []


def _begun(text: str, tag: str) -> int:
    """Number of characters at the end of a text that may begin a tag."""
    return next((size for size in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:size])), 0)


def _called(text: str) -> list[dict[str, Any]]:
    """The calls that a tagged text is, as OpenAI has them; none where it is no whole one."""
    found = _CALL.fullmatch(text) if text.startswith(_OPEN) else _LIST.fullmatch(text)
    try:
        written = json.loads(found[1], parse_constant=_no_constant) if found else None
    except (ValueError, RecursionError):
        return []
    if text.startswith(_OPEN) or not isinstance(written, list):
        written = [written]
    calls = []
    for call in written:
        if not (isinstance(call, dict) and is_text(call.get("name"))):
            return []
        if not isinstance(arguments := call.get("arguments", call.get("parameters", {})), dict):
            return []
        if not _is_written(arguments):
            return []
        function = {"name": call["name"], "arguments": _json(arguments)}
        calls.append({"id": f"call_{secrets.token_hex(12)}", "type": "function", "function": function})
    return calls


def _is_written(value: dict[str, Any]) -> bool:
    """Whether it can be sent as JSON that everybody reads: no infinity, no half of a character."""
    try:
        return is_text(json.dumps(value, ensure_ascii=False, allow_nan=False))
    except (ValueError, RecursionError):
        return False


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
