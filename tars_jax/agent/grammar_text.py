r"""The text form of UI-TARS: a thought, then calls.

    Thought: the button is at the top
    Action: click(point='<point>500 120</point>')

    type(content='it\'s done\n')

Canonical form, as printed: `Thought: {thought}\nAction: {calls}`, calls separated by one blank line, every value in
single quotes but for numbers, lists and the like of a function's JSON; without a thought just `Action: {calls}`.

Escapes. In a value: `\\`, `\'`, `\n`, `\r`, `\t` (and `\"` is read). In a thought: a line that begins with `Action:`
gets a backslash in front (`\Action:`), and one more if it has some already; everything else stands as it is.

Also read is what means one thing alone: no thought, a missing or repeated `Action:`, Markdown around it
(`**Action:**`), full-width punctuation, double, curly or no quotes, an unescaped quote inside a value (one closes only
before `, name=`, or before a `)` that no further quote follows), a point's quote that does not close, values without a
name (`wait(5)`), other spellings of functions, points and parameters (spellings.py, calls.py), a function without
parentheses where nothing else stands, calls separated by lines or `;`, `# comments` behind them, a full stop, and what
some models put around an answer: `<think>`, `<Thought>`, `<computer_env>`, `</Output>`, backquotes and code fences, an
end of turn. `<answer>...</answer>` at the end is finished(content='...') (answer.py), or the calls that it holds.

All scans move forward only, so the time is linear in the length of the text.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tars_jax.agent.actions import NAME_PATTERN, Action, ActionError
from tars_jax.agent.answer import END_OF_TURN, FinalAnswer, final_answer, holds_answer, no_action_error
from tars_jax.agent.calls import actions_from_call, call_of, points_only
from tars_jax.agent.functions import Bare, function_named
from tars_jax.agent.response import ErrorKind, ParseError, Response, parse_error_of
from tars_jax.agent.schemas import DECODER, to_json
from tars_jax.agent.spellings import FUNCTION_SPELLINGS, function_of
from tars_jax.environment import ActionSpace

# Quantifiers that give nothing back (`*+`) where the next part could take the same characters: else time is quadratic.
_COLON = r"[ \t]*+[:\uff1a]"
_MARKDOWN = r"[*_#>`]*+"
_ACTION = rf"{_MARKDOWN}[ \t]*+Actions?(?:[ \t]?\d{{1,2}})?{_MARKDOWN}{_COLON}{_MARKDOWN}"
_FENCE = r"(?:```(?:\w+(?=\s))?\s*+|`|\*\*|<action>\s*+)?"
_OPEN, _CLOSE, _COMMA = r"[(\uff08]", r"[)\uff09]", r"[,\uff0c]"
_CALL_FOLLOWS = rf"(?=\s*+{_FENCE}{NAME_PATTERN}[ \t]*{_OPEN})"
_ACTION_LINE = re.compile(rf"^[ \t]*+(?:{_ACTION}[ \t]*+){{1,2}}", re.IGNORECASE | re.MULTILINE)
_CALLING_LINE = re.compile(rf"{_ACTION_LINE.pattern}{_CALL_FOLLOWS}", re.IGNORECASE | re.MULTILINE)
_ACTION_AT_END = re.compile(rf"^[ \t]*+{_ACTION}\s*+\Z", re.IGNORECASE | re.MULTILINE)
_ACTION_ANYWHERE = re.compile(rf"\bActions?{_MARKDOWN}{_COLON}{_MARKDOWN}", re.IGNORECASE)
_CALLING_ANYWHERE = re.compile(rf"{_ACTION_ANYWHERE.pattern}{_CALL_FOLLOWS}", re.IGNORECASE)
_ACTION_HERE = re.compile(rf"{_ACTION}\s*", re.IGNORECASE)
_ESCAPED_ACTION_LINE = re.compile(rf"^([ \t]*+)(\\*+)({_ACTION})", re.IGNORECASE | re.MULTILINE)
_THOUGHT_LINE = re.compile(
    rf"^[ \t]*+{_MARKDOWN}[ \t]*+Thought{_MARKDOWN}{_COLON}{_MARKDOWN}", re.IGNORECASE | re.MULTILINE
)
_THOUGHT_TAG = re.compile(r"\s*<(think\w*)>")
_THINK_TAGS = re.compile(r"</?(?:think\w*|Thought)>|<computer_env>\s*$")
_END = re.compile(rf"(?:\s*(?:</\w+>|{END_OF_TURN}|```))+\s*")

_CALL = re.compile(rf"({NAME_PATTERN})[ \t]*{_OPEN}")
_BARE_NAME = re.compile(rf"([A-Za-z_][A-Za-z0-9_-]*)[`*]*[.\u3002]?(?:{_END.pattern}|\s*)")
_SPACE = re.compile(r"\s*")
_BEFORE_CALLS = re.compile(rf"\s*{_FENCE}")
_AFTER_CALL = re.compile(r"[ \t]*[`*]*[ \t]*(?:[.;\u3002\uff1b][`*]*)?(?:\s*#[^\n]*)*")
_PARAMETER = re.compile(rf"({NAME_PATTERN})\s*[=\uff1d]\s*")
_QUOTES = {
    **dict.fromkeys(("\u2018", "\u2019"), "\u2018\u2019"),
    **dict.fromkeys(("\u201c", "\u201d"), "\u201c\u201d"),
    **{quote: quote for quote in "'\""},
}
_QUOTE = "['\"\u2018\u2019\u201c\u201d]"
_AFTER_VALUE = re.compile(rf"\s*(?:{_CLOSE}(?!\s*{_QUOTE})|{_COMMA}\s*(?:{_CLOSE}|{NAME_PATTERN}\s*[=\uff1d]))")
_AFTER_POINT = re.compile(rf"\s*(?:{_CLOSE}|{_COMMA})")
_OPEN_POINT = re.compile(rf"{_QUOTE}\s*(<point>[^<>'\"]*</point>)\s*{_QUOTE}?(?=\s*(?:{_CLOSE}|{_COMMA}))")
_UNQUOTED_STOP = re.compile(r"[()\[\],\uff08\uff09\uff0c]")
_STOPS = {quote: re.compile(rf"[\\{closing}]") for quote, closing in _QUOTES.items()}

_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_UNESCAPES = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "r": "\r", "t": "\t"}


def format_text(response: Response, pixel_size: tuple[float, float] | None = None) -> str:
    """The canonical text of a response; see `tars_jax.agent.format_response`."""
    calls = "\n\n".join(format_call(action, pixel_size) for action in response.actions)
    if not response.thought:
        return f"Action: {calls}"
    thought = _ESCAPED_ACTION_LINE.sub(lambda line: f"{line[1]}\\{line[2]}{line[3]}", response.thought)
    return f"Thought: {thought}\nAction: {calls}"


def format_call(action: Action, pixel_size: tuple[float, float] | None = None) -> str:
    """The canonical call of one action, without `Action:`; see `call_of`."""
    name, parameters = call_of(action, pixel_size)
    return f"{name}({', '.join(f'{key}={format_value(value)}' for key, value in parameters.items())})"


def format_value(value: Any) -> str:
    """A parameter's value in canonical form: text in quotes, all else as JSON."""
    return quoted(value) if isinstance(value, str) else to_json(value)


def parse_text(
    text: str, *, space: ActionSpace | None = None, pixel_size: tuple[float, float] | None = None
) -> Response | ParseError:
    """Reads a response, or says why it is none; see `tars_jax.agent.parse_response`."""
    if not text.strip():
        return ParseError(ErrorKind.EMPTY, "the response is empty", 0)
    behind = _behind_thought(text)
    answer = final_answer(text, behind)
    if isinstance(answer, ParseError):
        return answer
    if answer is not None:
        return _parse_answer(text, behind, answer, space, pixel_size)
    preamble_end, calls_start = _calls_start(text, space)
    if calls_start < 0:
        return no_action_error(text, behind, "there is no 'Action:'")
    preamble = text[:preamble_end]
    if holds_answer(preamble[behind:]) and not _THOUGHT_LINE.search(preamble):
        return ParseError(ErrorKind.AMBIGUOUS, "there are an answer and a call", calls_start)
    parsed = _parse_calls(text, calls_start, space, pixel_size)
    if isinstance(parsed, ParseError):
        return parsed
    return Response(_parse_thought(preamble), tuple(parsed))


def _behind_thought(text: str) -> int:
    """Position behind a thought in tags that begins the text; 0 if there is none."""
    opening = _THOUGHT_TAG.match(text)
    return 0 if opening is None else text.find(f"</{opening[1]}>", opening.end()) + 1


def _parse_answer(
    text: str, behind: int, answer: FinalAnswer, space: ActionSpace | None, pixel_size: tuple[float, float] | None
) -> Response | ParseError:
    """`<answer>...</answer>` at the end: what is said to the user, unless it begins as calls do."""
    before = text[behind : answer.start]
    if any(calls.search(before) for calls in (_CALLING_LINE, _CALLING_ANYWHERE, _bare_call(_names(space)))):
        return ParseError(ErrorKind.AMBIGUOUS, "there are an answer and a call", answer.start)
    preamble = text[: answer.start]
    if marker := _ACTION_AT_END.search(preamble):
        preamble = preamble[: marker.start()]
    thought = _parse_thought(preamble)
    if not (_CALLING_LINE.match(answer.content) or answer.begins_as_call(space)):
        finished = answer.finished(space)
        return finished if isinstance(finished, ParseError) else Response(thought, finished)
    calls = parse_text(answer.content, space=space, pixel_size=pixel_size)
    return Response(thought, calls.actions) if isinstance(calls, Response) else replace(calls, position=answer.start)


@functools.lru_cache(maxsize=64)
def _bare_call(functions: tuple[str, ...] = ()) -> re.Pattern[str]:
    """A line that begins with the call of a GUI action or of one of a space's functions."""
    names = "|".join(map(re.escape, sorted({*FUNCTION_SPELLINGS, *functions})))
    return re.compile(rf"^[ \t]*+(?:`|<action>\s*+)?(?:{names}){_OPEN}", re.IGNORECASE | re.MULTILINE)


def _names(space: ActionSpace | None) -> tuple[str, ...]:
    return () if space is None else tuple(function.name for function in space.functions)


def _calls_start(text: str, space: ActionSpace | None) -> tuple[int, int]:
    """Positions at which the thought ends and the calls begin; (-1, -1) if there are none.

    At the first line that begins with `Action:` and a call; else at the first `Action:` and call anywhere, or the first
    line that is a call, whichever comes first. A marker without a call says at least where one is missing.
    """
    if marker := _CALLING_LINE.search(text):
        return marker.start(), marker.end()
    marker, bare = _CALLING_ANYWHERE.search(text), _bare_call(_names(space)).search(text)
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
    text: str, position: int, space: ActionSpace | None, pixel_size: tuple[float, float] | None
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
            if (bare := _BARE_NAME.fullmatch(text, position)) and _is_known(bare[1], space):
                return _called(bare[1], {}, [], position, space, pixel_size)
            return ParseError(ErrorKind.NO_ACTION, "there is no call after 'Action:'", position)
        is_json = function_named(call[1], space) is not None
        arguments = _parse_arguments(text, call.end(), points_only(call[1], space), is_json)
        if isinstance(arguments, ParseError):
            return arguments
        positional, parameters, end = arguments
        called = _called(call[1], parameters, positional, position, space, pixel_size)
        if isinstance(called, ParseError):
            return called
        actions += called
        after = _AFTER_CALL.match(text, end)
        position = after.end() if after else end


def _is_known(name: str, space: ActionSpace | None) -> bool:
    return function_named(name, space) is not None or function_of(name) is not None


def _called(
    name: str,
    parameters: dict[str, str],
    positional: Sequence[str],
    position: int,
    space: ActionSpace | None,
    pixel_size: tuple[float, float] | None,
) -> Sequence[Action] | ParseError:
    try:
        return actions_from_call(name, parameters, positional, space=space, pixel_size=pixel_size)
    except ActionError as error:
        return parse_error_of(error, position)


def _parse_arguments(
    text: str, position: int, points: bool, is_json: bool
) -> tuple[list[str], dict[str, str], int] | ParseError:
    """The arguments of a call whose `(` lies before `position`, those without a name first, and where the call ends.

    Of a function that takes `points` alone no value holds a quote, so that the next one closes it. Of one that takes
    JSON, a value without quotes may be any JSON.
    """
    positional: list[str] = []
    parameters: dict[str, str] = {}
    while True:
        position = _skip_space(text, position)
        if text[position : position + 1] in (")", "\uff09"):
            return positional, parameters, position + 1
        if position == len(text):
            return ParseError(ErrorKind.UNBALANCED, "a '(' does not close", position)
        start, parameter = position, _PARAMETER.match(text, position)
        if parameter:
            position = parameter.end()
        elif parameters:
            return ParseError(
                ErrorKind.BAD_ARGUMENT, "an argument after others must have the form name='value'", position
            )
        if parameter and parameter[1] in parameters:
            return ParseError(ErrorKind.BAD_ARGUMENT, f"{parameter[1][:80]!r} is given twice", start)
        value = _value(text, position, points, is_json)
        if isinstance(value, ParseError):
            return value
        written, position = value
        if parameter:
            parameters[parameter[1]] = written
        elif written:
            positional.append(written)
        else:
            return ParseError(ErrorKind.BAD_ARGUMENT, "an argument must have the form name='value'", start)
        position = _skip_space(text, position)
        if text[position : position + 1] in (",", "\uff0c"):
            position += 1


def _value(text: str, position: int, points: bool, is_json: bool) -> tuple[str, int] | ParseError:
    if text[position : position + 1] not in _STOPS:
        if is_json:
            return _bare_value(text, position)
        return _unquoted_value(text, position)
    if points and (point := _OPEN_POINT.match(text, position)):
        return point[1], point.end()
    return _quoted_value(text, position, _AFTER_POINT if points else _AFTER_VALUE)


def _quoted_value(text: str, start: int, after: re.Pattern[str]) -> tuple[str, int] | ParseError:
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
        elif after.match(text, position):
            return "".join(pieces), position
        else:
            pieces.append(found[0])
    return ParseError(ErrorKind.UNBALANCED, "a quote does not close", start)


def _bare_value(text: str, start: int) -> tuple[Bare, int] | ParseError:
    """A value of JSON without quotes around it, whose own texts may hold brackets; else any value without quotes."""
    with contextlib.suppress(ValueError, RecursionError):
        _, end = DECODER.raw_decode(text, start)
        if _AFTER_POINT.match(text, end):
            return Bare(text[start:end]), end
    value = _unquoted_value(text, start)
    return value if isinstance(value, ParseError) else (Bare(value[0]), value[1])


def _unquoted_value(text: str, start: int) -> tuple[str, int] | ParseError:
    """A value without quotes: up to the `,` or `)` that is outside of all brackets."""
    depth = 0
    for stop in _UNQUOTED_STOP.finditer(text, start):
        if stop[0] in "([\uff08":
            depth += 1
        elif depth == 0 and stop[0] in ",)\uff09\uff0c":
            return text[start : stop.start()].strip(), stop.start()
        elif stop[0] in ")]\uff09":
            depth -= 1
    return ParseError(ErrorKind.UNBALANCED, "a '(' does not close", start)


def _skip_space(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


def quoted(value: str) -> str:
    """A text as a value in quotes, with its escapes."""
    return "'" + re.sub(r"[\\'\n\r\t]", lambda found: _ESCAPES[found[0]], value) + "'"
