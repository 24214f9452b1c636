"""Completion of a half-written answer: the parts of the grammar, functions, arguments, their values, keys."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.agent import Response, parse_response
from tars_jax.agent.actions import DIRECTIONS
from tars_jax.agent.functions import parameter_schema
from tars_jax.agent.grammar import format_response
from tars_jax.agent.grammar_text import format_call
from tars_jax.agent.keys import NAMED_KEYS
from tars_jax.agent.platform_prompt import EXAMPLES, example_call
from tars_jax.agent.response import ParseError
from tars_jax.agent.schemas import resolved, to_json
from tars_jax.environment import ActionSpace, Function

MOST = 50
_POINT = "<point>500 500</point>"
_PARAMETERS: dict[str, tuple[str, ...]] = {
    "click": ("point",), "left_double": ("point",), "right_single": ("point",), "long_press": ("point",),
    "drag": ("start_point", "end_point"), "hotkey": ("key",), "type": ("content",), "scroll": ("point", "direction"),
    "wait": ("time",), "finished": ("content",), "open_app": ("app_name",), "navigate": ("content",),
    "press": ("key",), "release": ("key",), "mouse_down": ("point", "button"), "mouse_up": ("point", "button"),
    "move_to": ("point",),
}  # fmt: skip
_CALLS = {
    "text": re.compile(r"(?:^|\n)Action:\s*(.*)\Z", re.DOTALL),
    "tool": re.compile(r"<seed:tool_call>(.*)\Z", re.DOTALL),
}
_NAME = re.compile(r"[A-Za-z_][\w.-]*\Z|\Z")


@dataclasses.dataclass(frozen=True)
class Completion:
    insert: str  # goes where the cursor is
    label: str


@dataclasses.dataclass(frozen=True)
class Signature:
    name: str
    signature: str
    description: str


def signatures(space: ActionSpace) -> tuple[Signature, ...]:
    """All that can be called."""
    meanings = {action.name: meaning for action, meaning in EXAMPLES}
    actions = [
        Signature(name, f"{name}({', '.join(_PARAMETERS.get(name, ()))})", meanings.get(name, ""))
        for name in space.actions
    ]
    return (*actions, *(_signature(function) for function in space.functions))


def _signature(function: Function) -> Signature:
    required = function.parameters.get("required", ())
    names = [name if name in required else f"{name}?" for name in _properties(function)]
    return Signature(function.name, f"{function.name}({', '.join(names)})", function.description)


def complete(text: str, cursor: int, grammar: str, space: ActionSpace) -> tuple[Completion, ...]:
    """Completions at `cursor` (in characters), at most `MOST`; none where anything may follow."""
    before = text[: max(0, min(cursor, len(text)))]
    found = _text(before, space) if grammar == "text" else _tool(before, space) if grammar == "tool" else iter(())
    distinct = {completion.label: completion for completion in found if completion.insert}
    return tuple(distinct.values())[:MOST]


# ---- the text form


def _text(before: str, space: ActionSpace) -> Iterator[Completion]:
    calls = _CALLS["text"].search(before)
    if calls is None:
        line = before.rpartition("\n")[2]
        openings = ("Thought: ", "Action: ") if before == line else ("Action: ",)
        yield from (_rest(opening, line) for opening in openings if opening.startswith(line) and opening != line)
        if line.startswith("Thought: ") and len(line) > len("Thought: "):
            yield Completion("\nAction: ", "Action:")
        return
    written = calls[1]
    name, opened, arguments = _open_call(written)
    if not opened:
        prefix = _last_name(written)
        for signature in signatures(space):
            if signature.name.startswith(prefix):
                opens = "(" if _parameters(signature.name, space) else "()"
                yield Completion(signature.name[len(prefix) :] + opens, signature.signature)
        return
    yield from _argument(name, arguments, space)


def _open_call(written: str) -> tuple[str, bool, str]:
    """(function, whether its parenthesis is open, what stands in it) of the last call."""
    quote, escaped, opened_at = "", False, -1
    for place, letter in enumerate(written):
        if escaped:
            escaped = False
        elif quote:
            escaped = letter == "\\"
            quote = "" if letter == quote else quote
        elif letter in "'\"" and opened_at >= 0:
            quote = letter
        elif letter == "(" and opened_at < 0:
            opened_at = place
        elif letter == ")":
            opened_at = -1
    if opened_at < 0:
        return "", False, ""
    return _last_name(written[:opened_at]), True, written[opened_at + 1 :]


def _argument(name: str, arguments: str, space: ActionSpace) -> Iterator[Completion]:
    parameters = _parameters(name, space)
    value = re.search(r"(?:^|,)\s*([\w.-]+)=([^,=]*)\Z", arguments)
    if value is not None and value[1] in parameters:
        typed = value[2]
        for whole in _values(name, value[1], space):
            if whole.startswith(typed) and whole != typed:
                yield _rest(whole, typed)
        if typed and re.fullmatch(r"'(?:[^'\\]|\\.)*'|[\d.]+|true|false|null|\[.*\]", typed):
            yield from _after(name, arguments, space)
        return
    prefix = re.search(r"([\w.-]*)\Z", arguments)
    typed = prefix[1] if prefix else ""
    given = set(re.findall(r"([\w.-]+)=", arguments))
    for parameter in parameters:
        if parameter not in given and parameter.startswith(typed):
            yield Completion(f"{parameter[len(typed) :]}=", f"{parameter}=")
    if not typed and not arguments.strip():
        yield Completion(")", ")")


def _after(name: str, arguments: str, space: ActionSpace) -> Iterator[Completion]:
    given = set(re.findall(r"([\w.-]+)=", arguments))
    for parameter in _parameters(name, space):
        if parameter not in given:
            yield Completion(f", {parameter}=", f", {parameter}=")
    yield Completion(")", ")")


# ---- the tool form


def _tool(before: str, space: ActionSpace) -> Iterator[Completion]:
    calls = _CALLS["tool"].search(before)
    if calls is None:
        yield from (_rest(opening, before) for opening in ("<think>", "<seed:tool_call>") if opening.startswith(before))
        if "<think>" in before and "</think>" not in before:
            yield Completion("</think>", "</think>")
        elif "</think>" in before or not before:
            yield Completion("<seed:tool_call>", "<seed:tool_call>")
        return
    written = calls[1]
    function = written.rpartition("<function=")[2] if "<function=" in written else None
    if function is None or "</function>" in function:
        yield Completion("<function=", "<function=")
        yield Completion("</seed:tool_call>", "</seed:tool_call>")
        return
    name, closed, inside = function.partition(">")
    if not closed:
        for signature in signatures(space):
            if signature.name.startswith(name):
                yield Completion(f"{signature.name[len(name) :]}>", signature.signature)
        return
    parameter = inside.rpartition("<parameter=")[2] if "<parameter=" in inside else None
    if parameter is None or "</parameter>" in parameter:
        given = set(re.findall(r"<parameter=([\w.-]+)>", inside))
        for each in _parameters(name, space):
            if each not in given:
                yield Completion(f"<parameter={each}>", f"{each}=")
        yield Completion("</function></seed:tool_call>", "</function>")
        return
    wanted, named, typed = parameter.partition(">")
    if not named:
        for each in _parameters(name, space):
            if each.startswith(wanted):
                yield Completion(f"{each[len(wanted) :]}>", f"{each}=")
        return
    for whole in _values(name, wanted, space):
        plain = whole.strip("'")
        if plain.startswith(typed):
            yield Completion(f"{plain[len(typed) :]}</parameter>", plain)
    if typed:
        yield Completion("</parameter>", "</parameter>")


# ---- what both have in common


def _parameters(name: str, space: ActionSpace) -> tuple[str, ...]:
    function = space.function(name)
    if function is not None:
        return tuple(_properties(function))
    return _PARAMETERS.get(name, ()) if name in space.actions else ()


def _properties(function: Function) -> Sequence[str]:
    return list(dict.fromkeys([*function.parameters.get("properties", {}), *function.parameters.get("required", ())]))


def _values(name: str, parameter: str, space: ActionSpace) -> Iterator[str]:
    """Values as the text form writes them."""
    function = space.function(name)
    if function is not None:
        schema = resolved(parameter_schema(function, parameter), function.parameters)
        yield from map(_quoted, _enumerated(schema))
        example = example_call(function)
        if example is not None and parameter in example.parameters:
            yield _quoted(example.parameters[parameter])
    elif parameter in ("point", "start_point", "end_point"):
        yield f"'{_POINT}'"
    elif parameter == "direction":
        yield from (f"'{direction}'" for direction in DIRECTIONS)
    elif parameter == "key":
        yield from (f"'{key}'" for key in sorted(NAMED_KEYS))
    elif parameter == "button":
        yield from ("'left'", "'right'")
    elif parameter == "time":
        yield "1"


def _enumerated(schema: Any) -> Sequence[Any]:
    if not isinstance(schema, dict):
        return ()
    if schema.get("type") == "boolean":
        return (True, False)
    return tuple(schema.get("enum", ())) or ((schema["const"],) if "const" in schema else ())


def _quoted(value: Any) -> str:
    if not isinstance(value, str):
        return to_json(value)
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


def _rest(whole: str, typed: str) -> Completion:
    return Completion(whole[len(typed) :], whole.strip())


def _last_name(text: str) -> str:
    found = _NAME.search(text)
    return found[0] if found else ""


def examples(space: ActionSpace) -> dict[str, str]:
    """A whole call of each GUI action of a space."""
    return {action.name: format_call(action) for action, _ in EXAMPLES if action.name in space.actions}


_BEFORE = "Action: "


def answer_text(
    thought: str, calls: str, grammar: str, space: ActionSpace, pixel_size: tuple[int, int] | None = None
) -> str:
    """The whole answer in `grammar`; `calls` are those of the text form, which point on the grid of 0..1000.

    `pixel_size`: (width, height) of the image in whose pixels the policy points; None: it points on the grid, too.
    Raises InputError for what cannot be read.
    """
    parsed = parse_response(f"{_BEFORE}{calls}", "text", space=space)
    if isinstance(parsed, ParseError):
        raise InputError(parsed.message)
    return format_response(Response(thought, parsed.actions), grammar, space=space, pixel_size=pixel_size)


def complete_calls(calls: str, cursor: int, space: ActionSpace) -> tuple[Completion, ...]:
    """Completions at `cursor` of calls alone."""
    return complete(f"{_BEFORE}{calls}", len(_BEFORE) + cursor, "text", space)
