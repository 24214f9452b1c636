r"""The text form of UI-TARS: a thought, then calls.

    Thought: the button is at the top
    Action: click(point='<point>500 120</point>')

    type(content='it\'s done\n')

Canonical form, as printed: `Thought: {thought}\nAction: {calls}`, calls separated by one blank line, every value in
single quotes; without a thought just `Action: {calls}`.

Escapes. In a value: `\\`, `\'`, `\n`, `\r`, `\t` (and `\"` is read). In a thought: a line that begins with `Action:`
gets a backslash in front (`\Action:`), and one more if it has some already; everything else stands as it is.

Also read: no thought, a missing or repeated `Action:`, a full-width colon, double quotes, no quotes, an unescaped quote
inside a value (one closes only before `, name=`, or before a `)` that no further quote follows), other spellings of
points and parameters (calls.py), and what some models put around an answer: `<think>`, `<Thought>`,
`<computer_env>`, `</Output>`, a code fence around the calls, an end of turn.

All scans move forward only, so the time is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tars_jax.agent.actions import FUNCTIONS, NAME_PATTERN, Action, ActionError
from tars_jax.agent.calls import action_from_call, call_of
from tars_jax.agent.response import ErrorKind, ParseError, Response, parse_error_of

_COLON = r"[ \t]*[:\uff1a]"
_FENCE = r"(?:```(?:\w+(?=\s))?\s*)?"
_CALL_FOLLOWS = rf"(?=\s*{_FENCE}{NAME_PATTERN}[ \t]*\()"
_ACTION_LINE = re.compile(rf"^[ \t]*Action{_COLON}", re.IGNORECASE | re.MULTILINE)
_CALLING_LINE = re.compile(rf"{_ACTION_LINE.pattern}{_CALL_FOLLOWS}", re.IGNORECASE | re.MULTILINE)
_ACTION_ANYWHERE = re.compile(rf"\bAction{_COLON}", re.IGNORECASE)
_CALLING_ANYWHERE = re.compile(rf"{_ACTION_ANYWHERE.pattern}{_CALL_FOLLOWS}", re.IGNORECASE)
_ACTION_HERE = re.compile(rf"Action{_COLON}\s*", re.IGNORECASE)
_ESCAPED_ACTION_LINE = re.compile(rf"^([ \t]*)(\\*)(Action{_COLON})", re.IGNORECASE | re.MULTILINE)
_THOUGHT_LINE = re.compile(rf"^[ \t]*Thought{_COLON}", re.IGNORECASE | re.MULTILINE)
_BARE_CALL = re.compile(rf"^[ \t]*(?:{'|'.join(sorted(FUNCTIONS))})\(", re.MULTILINE)
_THINK_TAGS = re.compile(r"</?(?:think\w*|Thought)>|<computer_env>\s*$")
_END = re.compile(r"(?:\s*(?:</\w+>|<\|(?:im_end|endoftext|eot_id)\|>|```))+\s*")

_CALL = re.compile(rf"({NAME_PATTERN})[ \t]*\(")
_SPACE = re.compile(r"\s*")
_BEFORE_CALLS = re.compile(rf"\s*{_FENCE}")
_PARAMETER = re.compile(rf"({NAME_PATTERN})\s*=\s*")
_AFTER_VALUE = re.compile(rf"\s*(?:\)(?!\s*['\"])|,\s*(?:\)|{NAME_PATTERN}\s*=))")
_UNQUOTED_STOP = re.compile(r"[()\[\],]")
_STOPS = {quote: re.compile(rf"[\\{quote}]") for quote in "'\""}

_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_UNESCAPES = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "r": "\r", "t": "\t"}


def format_text(response: Response) -> str:
    """The canonical text of a response."""
    calls = "\n\n".join(format_call(action) for action in response.actions)
    if not response.thought:
        return f"Action: {calls}"
    thought = _ESCAPED_ACTION_LINE.sub(lambda line: f"{line[1]}\\{line[2]}{line[3]}", response.thought)
    return f"Thought: {thought}\nAction: {calls}"


def format_call(action: Action) -> str:
    """The canonical call of one action, without `Action:`."""
    name, parameters = call_of(action)
    return f"{name}({', '.join(f'{key}={_quote(value)}' for key, value in parameters.items())})"


def parse_text(
    text: str, *, tools: frozenset[str] = frozenset(), pixel_size: tuple[float, float] | None = None
) -> Response | ParseError:
    """Reads a response, or says why it is none; see `tars_jax.agent.parse_response`."""
    if not text.strip():
        return ParseError(ErrorKind.EMPTY, "the response is empty", 0)
    preamble_end, calls_start = _calls_start(text)
    if calls_start < 0:
        return ParseError(ErrorKind.NO_ACTION, "there is no 'Action:'", len(text))
    parsed = _parse_calls(text, calls_start, tools, pixel_size)
    if isinstance(parsed, ParseError):
        return parsed
    return Response(_parse_thought(text[:preamble_end]), tuple(parsed))


def _calls_start(text: str) -> tuple[int, int]:
    """Where the thought ends and where the calls begin; (-1, -1) if there are none.

    At the first line that begins with `Action:` and a call; else at the first `Action:` and call anywhere, or the first
    line that is a call, whichever comes first. A marker without a call says at least where one is missing.
    """
    if marker := _CALLING_LINE.search(text):
        return marker.start(), marker.end()
    marker, bare = _CALLING_ANYWHERE.search(text), _BARE_CALL.search(text)
    if bare and not (marker and marker.start() < bare.start()):
        return bare.start(), bare.start()
    if marker := marker or _ACTION_LINE.search(text):
        return marker.start(), marker.end()
    if markers := list(_ACTION_ANYWHERE.finditer(text)):
        return markers[-1].start(), markers[-1].end()
    return -1, -1


def _parse_thought(preamble: str) -> str:
    if marker := _THOUGHT_LINE.search(preamble):
        thought = preamble[marker.end() :].strip()
    else:
        thought = _THINK_TAGS.sub("", preamble).strip()
    return _ESCAPED_ACTION_LINE.sub(lambda line: line[1] + line[2][1:] + line[3], thought)


def _parse_calls(
    text: str, position: int, tools: frozenset[str], pixel_size: tuple[float, float] | None
) -> Sequence[Action] | ParseError:
    actions: list[Action] = []
    if before := _BEFORE_CALLS.match(text, position):
        position = before.end()
    while True:
        position = _skip_space(text, position)
        if actions and (marker := _ACTION_HERE.match(text, position)):
            position = marker.end()
        if actions and (position == len(text) or _END.fullmatch(text, position)):
            return actions
        call = _CALL.match(text, position)
        if not call:
            if actions:
                return ParseError(ErrorKind.TRAILING_TEXT, "there is text after the last call", position)
            return ParseError(ErrorKind.NO_ACTION, "there is no call after 'Action:'", position)
        arguments = _parse_arguments(text, call.end())
        if isinstance(arguments, ParseError):
            return arguments
        parameters, end = arguments
        try:
            actions.append(action_from_call(call[1], parameters, tools=tools, pixel_size=pixel_size))
        except ActionError as error:
            return parse_error_of(error, position)
        position = end


def _parse_arguments(text: str, position: int) -> tuple[dict[str, str], int] | ParseError:
    """The arguments of a call whose `(` lies before `position`, and where the call ends."""
    parameters: dict[str, str] = {}
    while True:
        position = _skip_space(text, position)
        if text.startswith(")", position):
            return parameters, position + 1
        if position == len(text):
            return ParseError(ErrorKind.UNBALANCED, "a '(' does not close", position)
        parameter = _PARAMETER.match(text, position)
        if not parameter:
            return ParseError(ErrorKind.BAD_ARGUMENT, "an argument takes the form name='value'", position)
        if parameter[1] in parameters:
            return ParseError(ErrorKind.BAD_ARGUMENT, f"{parameter[1][:80]!r} is given twice", position)
        position = parameter.end()
        quoted = text[position : position + 1] in _STOPS and position < len(text)
        value = _quoted_value(text, position) if quoted else _unquoted_value(text, position)
        if isinstance(value, ParseError):
            return value
        parameters[parameter[1]], position = value
        position = _skip_space(text, position)
        if text.startswith(",", position):
            position += 1


def _quoted_value(text: str, start: int) -> tuple[str, int] | ParseError:
    stop = _STOPS[text[start]]
    pieces = []
    position = start + 1
    while found := stop.search(text, position):
        pieces.append(text[position : found.start()])
        position = found.end()
        if found[0] == "\\":
            escaped = text[position : position + 1]
            pieces.append(_UNESCAPES.get(escaped, "\\" + escaped))
            position += 1
        elif _AFTER_VALUE.match(text, position):
            return "".join(pieces), position
        else:
            pieces.append(found[0])
    return ParseError(ErrorKind.UNBALANCED, "a quote does not close", start)


def _unquoted_value(text: str, start: int) -> tuple[str, int] | ParseError:
    """A value without quotes: up to the `,` or `)` that is outside of all brackets."""
    depth = 0
    for stop in _UNQUOTED_STOP.finditer(text, start):
        if stop[0] in "([":
            depth += 1
        elif depth == 0 and stop[0] in ",)":
            return text[start : stop.start()].strip(), stop.start()
        elif stop[0] in ")]":
            depth -= 1
    return ParseError(ErrorKind.UNBALANCED, "a '(' does not close", start)


def _skip_space(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


def _quote(value: str) -> str:
    return "'" + re.sub(r"[\\'\n\r\t]", lambda found: _ESCAPES[found[0]], value) + "'"
