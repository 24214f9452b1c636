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

Also read: white space between tags, a thought without its tag or without its opening tag, several calls after each
other, and an end of turn. All scans move forward only, so the time is linear in the length of the text.
"""

from __future__ import annotations

import re

from tars_jax import InputError
from tars_jax.agent.actions import NAME_PATTERN, Action, ActionError
from tars_jax.agent.calls import action_from_call, call_of
from tars_jax.agent.response import ErrorKind, ParseError, Response, parse_error_of

_CALL_OPEN, _CALL_CLOSE = "<seed:tool_call>", "</seed:tool_call>"
_FUNCTION_CLOSE, _PARAMETER_CLOSE = "</function>", "</parameter>"
_FUNCTION = re.compile(rf"<function=({NAME_PATTERN})>")
_PARAMETER = re.compile(rf"<parameter=({NAME_PATTERN})>")
_SPACE = re.compile(r"\s*")
_NEXT_CALL = re.compile(rf"{_CALL_CLOSE}\s*{_CALL_OPEN}\s*")
_END = re.compile(r"\s*(?:<\|(?:im_end|endoftext|eot_id)\|>\s*)*")


def format_tool(response: Response, *, think_tag: str = "think") -> str:
    """The canonical text of a response."""
    _check_tag(think_tag)
    functions = "".join(_format_function(action) for action in response.actions)
    call = f"{_CALL_OPEN}{functions}{_CALL_CLOSE}"
    if not response.thought:
        return call
    return f"<{think_tag}>{_escape(response.thought, think_tag)}</{think_tag}>{call}"


def parse_tool(
    text: str,
    *,
    tools: frozenset[str] = frozenset(),
    think_tag: str = "think",
    pixel_size: tuple[float, float] | None = None,
) -> Response | ParseError:
    """Reads a response, or says why it is none; see `tars_jax.agent.parse_response`."""
    _check_tag(think_tag)
    position = _skip_space(text, 0)
    if position == len(text):
        return ParseError(ErrorKind.EMPTY, "the response is empty", 0)
    thoughts = []
    opening, closing = f"<{think_tag}>", f"</{think_tag}>"
    tagged = text.startswith(opening, position)
    end = text.find(closing, position)
    if tagged and end < 0:
        return ParseError(ErrorKind.UNBALANCED, f"{opening} does not close", position)
    start = text.find(_CALL_OPEN, end + len(closing) if tagged else position)
    if start < 0:
        return ParseError(ErrorKind.NO_ACTION, f"there is no {_CALL_OPEN}", len(text))
    if 0 <= end < start:  # a chat template may have written the opening tag already
        thoughts.append(_unescape(text[position + len(opening) * tagged : end], think_tag))
        position = end + len(closing)
    thoughts.append(text[position:start])

    actions: list[Action] = []
    position = _skip_space(text, start + len(_CALL_OPEN))
    while not text.startswith(_CALL_CLOSE, position):
        function = _FUNCTION.match(text, position)
        if not function:
            return ParseError(ErrorKind.UNBALANCED, f"neither <function=...> nor {_CALL_CLOSE} follows", position)
        parameters: dict[str, str] = {}
        start, position = position, _skip_space(text, function.end())
        while not text.startswith(_FUNCTION_CLOSE, position):
            parameter = _PARAMETER.match(text, position)
            end = text.find(_PARAMETER_CLOSE, position)
            if not parameter or end < 0:
                return ParseError(ErrorKind.UNBALANCED, f"neither a parameter nor {_FUNCTION_CLOSE} follows", position)
            if parameter[1] in parameters:
                return ParseError(ErrorKind.BAD_ARGUMENT, f"{parameter[1][:80]!r} is given twice", position)
            parameters[parameter[1]] = _parse_value(text[parameter.end() : end])
            position = _skip_space(text, end + len(_PARAMETER_CLOSE))
        try:
            actions.append(action_from_call(function[1], parameters, tools=tools, pixel_size=pixel_size))
        except ActionError as error:
            return parse_error_of(error, start)
        position = _skip_space(text, position + len(_FUNCTION_CLOSE))
        if another := _NEXT_CALL.match(text, position):
            position = another.end()
    if not actions:
        return ParseError(ErrorKind.NO_ACTION, "the call has no function", position)
    position += len(_CALL_CLOSE)
    if not _END.fullmatch(text, position):
        return ParseError(ErrorKind.TRAILING_TEXT, f"there is text after {_CALL_CLOSE}", position)
    return Response("\n".join(thought.strip() for thought in thoughts), tuple(actions))


def _format_function(action: Action) -> str:
    name, parameters = call_of(action)
    body = "".join(f"<parameter={key}>{_format_value(value)}</parameter>" for key, value in parameters.items())
    return f"<function={name}>{body}</function>"


def _format_value(value: str) -> str:
    value = _escape(value, "parameter")
    return f"\n{value}\n" if value.startswith("\n") and value.endswith("\n") and len(value) > 1 else value


def _parse_value(value: str) -> str:
    if value.startswith("\n") and value.endswith("\n") and len(value) > 1:
        value = value[1:-1]
    return _unescape(value, "parameter")


def _escape(text: str, tag: str) -> str:
    return re.sub(rf"<(\\*)/{re.escape(tag)}>", rf"<\\\1/{tag}>", text)


def _unescape(text: str, tag: str) -> str:
    return re.sub(rf"<\\(\\*)/{re.escape(tag)}>", rf"<\1/{tag}>", text)


def _skip_space(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


def _check_tag(think_tag: str) -> None:
    if not re.fullmatch(NAME_PATTERN, think_tag):
        raise InputError(f"think_tag takes a name of letters, digits and . _ -, got {think_tag!r}")
