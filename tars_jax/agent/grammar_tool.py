r"""The tool form of the UI-TARS-2 era: a thought in a tag, then functions in a call.

    <think>the button is at the top</think><seed:tool_call><function=click>
    <parameter=point><point>500 120</point></parameter></function></seed:tool_call>

Canonical form, as printed: as above on one line; several functions follow each other inside one call; without a thought
there is no think tag. The think tag's name is a parameter, since models differ in it.

Escapes. Values and thoughts stand verbatim (code, markup, quotes and backslashes included), with two exceptions. The
tag that would end them gets a backslash: `</parameter>` is written `<\/parameter>`, `<\/parameter>` is written
`<\\/parameter>`, and so on; likewise the closing think tag in a thought. And a value that begins and ends with a
newline is written with one more at both ends, because one such pair belongs to the layout and is dropped:
`<parameter=code>\nprint(1)\n</parameter>` means `print(1)`.

Values of a function are JSON, and text where its schema allows text: where it allows both, a text that would be read as
JSON stands as a JSON string.

Also read is what means one thing alone: white space between tags, a thought without its tag or without its opening
tag, several calls after each other, `<tool_call>` or no tag around functions, a call that the text ends without closing
(its functions must be closed), a function as Qwen's weights call it (`{"name": ..., "arguments": {...}}` in the tag),
the tags of the report's own agent (`<code_env>` around functions; for tools of MCP servers `<mcp_env>
<|FunctionCallBegin|>[{"name": ..., "parameters": {...}}, ...]<|FunctionCallEnd|></mcp_env>`), a code fence, an end of
turn, other spellings of functions and parameters (spellings.py). `<answer>...</answer>` in place of a call is
finished(content='...') (answer.py).

All scans move forward only, so the time is linear in the length of the text.
"""

from __future__ import annotations

import re
from typing import Any

from tars_jax import InputError
from tars_jax.agent.actions import NAME_PATTERN, Action, ActionError
from tars_jax.agent.answer import END_OF_TURN, final_answer, holds_answer, no_action_error
from tars_jax.agent.calls import actions_from_call, call_of
from tars_jax.agent.functions import Bare, function_named, parameter_schema, written_value
from tars_jax.agent.response import ErrorKind, ParseError, Response, parse_error_of
from tars_jax.agent.schemas import DECODER, to_json
from tars_jax.environment import ActionSpace

_CALL_OPEN, _CALL_CLOSE = "<seed:tool_call>", "</seed:tool_call>"
_FUNCTION_CLOSE, _PARAMETER_CLOSE = "</function>", "</parameter>"
_FUNCTION = re.compile(rf"<function=({NAME_PATTERN})>")
_PARAMETER = re.compile(rf"<parameter=({NAME_PATTERN})>")
_OPENING = re.compile(
    r"<(?:seed:)?tool_call>|<(?:code|mcp)_env>(?:\s*<\|FunctionCallBegin\|>)?|<\|FunctionCallBegin\|>"
)
_CLOSING = re.compile(r"</(?:seed:)?tool_call>|(?:<\|FunctionCallEnd\|>\s*)?</(?:code|mcp)_env>|<\|FunctionCallEnd\|>")
_SPACE = re.compile(r"\s*")
_END = re.compile(rf"\s*(?:(?:{END_OF_TURN}|```)\s*)*", re.IGNORECASE)
_FENCE = re.compile(r"```\w*")


def format_tool(
    response: Response, *, space: ActionSpace | None = None, think_tag: str = "think",
    pixel_size: tuple[float, float] | None = None,
) -> str:  # fmt: skip
    """The canonical text of a response; see `tars_jax.agent.format_response`."""
    check_tag(think_tag)
    functions = "".join(format_function(action, space, pixel_size) for action in response.actions)
    call = f"{_CALL_OPEN}{functions}{_CALL_CLOSE}"
    if not response.thought:
        return call
    return f"<{think_tag}>{escape(response.thought, think_tag)}</{think_tag}>{call}"


def parse_tool(
    text: str,
    *,
    space: ActionSpace | None = None,
    think_tag: str = "think",
    pixel_size: tuple[float, float] | None = None,
) -> Response | ParseError:
    """Reads a response, or says why it is none; see `tars_jax.agent.parse_response`."""
    check_tag(think_tag)
    position = _skip_space(text, 0)
    if position == len(text):
        return ParseError(ErrorKind.EMPTY, "the response is empty", 0)
    thoughts = []
    opening, closing = f"<{think_tag}>", f"</{think_tag}>"
    tagged = text.startswith(opening, position)
    end = text.find(closing, position)
    if tagged and end < 0:
        return ParseError(ErrorKind.UNBALANCED, f"{opening} does not close", position)
    behind = end + len(closing) if end >= 0 else position
    answer = final_answer(text, behind)
    if isinstance(answer, ParseError):
        return answer
    opened = _OPENING.search(text, behind if tagged else position) or _FUNCTION.search(text, behind)
    start = answer.start if answer else opened.start() if opened else -1
    if start < 0:
        return no_action_error(text, behind, f"there is no {_CALL_OPEN}")
    if 0 <= end < start:  # a chat template may have written the opening tag already
        thoughts.append(unescape(text[position + len(opening) * tagged : end], think_tag).strip())
        position = end + len(closing)
    before = text[position:start].strip()
    thoughts.append("" if _FENCE.fullmatch(before) else before)
    thought = "\n".join(thoughts)
    if answer is not None:
        if opened or answer.begins_as_call(space):
            return ParseError(ErrorKind.AMBIGUOUS, "there are an answer and a call", start)
        finished = answer.finished(space)
        return finished if isinstance(finished, ParseError) else Response(thought, finished)
    if holds_answer(text[position:start]):
        return ParseError(ErrorKind.AMBIGUOUS, "there are an answer and a call", start)
    actions = _parse_functions(text, start, space, pixel_size)
    return actions if isinstance(actions, ParseError) else Response(thought, tuple(actions))


def _parse_functions(
    text: str, position: int, space: ActionSpace | None, pixel_size: tuple[float, float] | None
) -> list[Action] | ParseError:
    """The functions of the calls that begin at `position`, with which the text ends."""
    actions: list[Action] = []
    if opened := _OPENING.match(text, position):
        position = opened.end()
    while True:
        position = _skip_space(text, position)
        if closed := _CLOSING.match(text, position):
            if not actions:
                return ParseError(ErrorKind.NO_ACTION, "the call has no function", position)
            position = closed.end()
            if not (another := _OPENING.match(text, _skip_space(text, position))):
                break
            position = _skip_space(text, another.end())
        elif actions and _END.fullmatch(text, position):
            break
        start, function = position, _FUNCTION.match(text, position)
        if function:
            parameters = _parse_parameters(text, function.end())
            if isinstance(parameters, ParseError):
                return parameters
            values, position = parameters
            calls: list[tuple[str, dict[str, Any]]] = [(function[1], {**values})]
        elif written := _json_calls(text, position):
            calls, position = written
        else:
            return ParseError(ErrorKind.UNBALANCED, f"neither <function=...> nor {_CALL_CLOSE} follows", position)
        try:
            for name, arguments in calls:
                actions += actions_from_call(name, arguments, space=space, pixel_size=pixel_size)
        except ActionError as error:
            return parse_error_of(error, start)
    if not _END.fullmatch(text, position):
        return ParseError(ErrorKind.TRAILING_TEXT, f"there is text after {_CALL_CLOSE}", position)
    return actions


def _json_calls(text: str, position: int) -> tuple[list[tuple[str, dict[str, Any]]], int] | None:
    """Calls as JSON, one {"name": ..., "arguments": {...}} or a list of them, and where they end.

    The arguments may be called parameters.
    """
    try:
        written, end = DECODER.raw_decode(text, position)
    except (ValueError, RecursionError):
        return None
    calls = []
    for call in written if isinstance(written, list) else [written]:
        if not isinstance(call, dict) or not isinstance(call.get("name"), str):
            return None
        arguments = call.get("arguments", call.get("parameters", {}))
        if not isinstance(arguments, dict):
            return None
        calls.append((call["name"], arguments))
    return (calls, end) if calls else None


def _parse_parameters(text: str, position: int) -> tuple[dict[str, str], int] | ParseError:
    """The parameters of a function whose tag ends at `position`, and where the function ends."""
    parameters: dict[str, str] = {}
    position = _skip_space(text, position)
    while not text.startswith(_FUNCTION_CLOSE, position):
        parameter = _PARAMETER.match(text, position)
        end = text.find(_PARAMETER_CLOSE, position)
        if not parameter or end < 0:
            return ParseError(ErrorKind.UNBALANCED, f"neither a parameter nor {_FUNCTION_CLOSE} follows", position)
        if parameter[1] in parameters:
            return ParseError(ErrorKind.BAD_ARGUMENT, f"{parameter[1][:80]!r} is given twice", position)
        parameters[parameter[1]] = Bare(_parse_value(text[parameter.end() : end]))
        position = _skip_space(text, end + len(_PARAMETER_CLOSE))
    return parameters, position + len(_FUNCTION_CLOSE)


def format_function(
    action: Action, space: ActionSpace | None = None, pixel_size: tuple[float, float] | None = None
) -> str:
    """One function of a canonical call."""
    name, parameters = call_of(action, pixel_size)
    function = function_named(name, space)

    def written(key: str, value: Any) -> str:
        if function is not None:
            value = written_value(value, parameter_schema(function, key), function.parameters)
        return format_value(value if isinstance(value, str) else to_json(value))

    body = "".join(f"<parameter={key}>{written(key, value)}</parameter>" for key, value in parameters.items())
    return f"<function={name}>{body}</function>"


def format_value(value: str) -> str:
    """A value between its tags, with its escapes."""
    value = escape(value, "parameter")
    return f"\n{value}\n" if value.startswith("\n") and value.endswith("\n") and len(value) > 1 else value


def _parse_value(value: str) -> str:
    if value.startswith("\n") and value.endswith("\n") and len(value) > 1:
        value = value[1:-1]
    return unescape(value, "parameter")


def escape(text: str, tag: str) -> str:
    """A text between tags of this name, which it does not close."""
    return re.sub(rf"<(\\*)/{re.escape(tag)}>", rf"<\\\1/{tag}>", text)


def unescape(text: str, tag: str) -> str:
    """The inverse of `escape`."""
    return re.sub(rf"<\\(\\*)/{re.escape(tag)}>", rf"<\1/{tag}>", text)


def _skip_space(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


def check_tag(think_tag: str) -> None:
    """Raises InputError for what is no name of a tag."""
    if not re.fullmatch(NAME_PATTERN, think_tag):
        raise InputError(f"think_tag must be a name of letters, digits and . _ -; got {think_tag!r}")
