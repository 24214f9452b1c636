"""Calls, as a function's name and parameters: the lenient way into typed actions, and the canonical way out."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import re
from collections.abc import Mapping
from typing import Any

from tars_jax.agent.actions import (
    FUNCTIONS,
    MAX_HOTKEY_KEYS,
    Action,
    ActionError,
    BadArgument,
    MissingArgument,
    Point,
    Scroll,
    ToolCall,
)
from tars_jax.agent.keys import canonical_key, join_combination, split_combination

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_NUMBERS = re.compile(rf"{_NUMBER}(?:[\s,]+{_NUMBER}){{1,3}}")
_MARKER = r"(?:<\|box_(?:start|end)\|>|</?(?:point|bbox)>)"
_BETWEEN_CORNERS = re.compile(r"[)\]]\s*,?\s*[(\[]")
_MARKED = re.compile(rf"\s*(?:{_MARKER}\s*)?(.*?)\s*(?:{_MARKER}\s*)?", re.DOTALL)
_MAX_POINT_CHARACTERS = 200
_PARAMETER_OF_FIELD = {"keys": "key", "seconds": "time"}
_POINT_FIELDS = frozenset({"point", "start_point", "end_point"})
_OTHER_SPELLINGS = {  # what models and older prompts write -> the parameters it may stand for
    "start_box": ("start_point", "point"),
    "end_box": ("end_point",),
    "start_point": ("point",),
    "text": ("content",),
    "url": ("content",),
    "keys": ("key",),
    "seconds": ("time",),
}


def action_from_call(
    name: str,
    parameters: Mapping[str, Any],
    *,
    tools: frozenset[str] = frozenset(),
    pixel_size: tuple[float, float] | None = None,
) -> Action:
    """The typed action of a call.

    Args:
      name: the function, one of `FUNCTIONS` or of `tools`.
      parameters: values by name, as text or typed: a point may be a `Point`, a pair, or any spelling of the grammars.
      tools: further functions, which become a `ToolCall`.
      pixel_size: (width, height) of the image that the policy saw, if it gives points in that image's pixels.

    Raises:
      ActionError: there is no such function.
      MissingArgument, BadArgument: its parameters are not what it takes.
    """
    if name in tools and name not in FUNCTIONS:
        return ToolCall(name, dict(parameters))
    if name not in FUNCTIONS:
        raise ActionError(f"there is no function {name[:80]!r}")
    kind = FUNCTIONS[name]
    fields = {parameter_of_field(field.name): field for field in dataclasses.fields(kind)}
    values: dict[str, Any] = {}
    for written, value in parameters.items():
        parameter = _parameter(name, written, fields)
        field = fields[parameter].name
        if field in values:
            raise BadArgument(f"{name}: {parameter} is given twice")
        values[field] = _value(name, field, value, pixel_size)
    for parameter, required in fields.items():
        if required.name in values or required.default is not dataclasses.MISSING:
            continue
        if kind is Scroll and parameter == "point":
            values["point"] = None
        else:
            raise MissingArgument(f"{name}: {parameter} is missing")
    action: Action = kind(**values)
    return action


def call_of(action: Action) -> tuple[str, dict[str, str]]:
    """The call of an action in canonical spelling: (function, parameters as text); parameters at default left out."""
    if isinstance(action, ToolCall):
        return action.name, dict(action.parameters)
    parameters = {}
    for field in dataclasses.fields(action):
        value = getattr(action, field.name)
        if value is None or (field.default is not dataclasses.MISSING and value == field.default):
            continue
        parameters[parameter_of_field(field.name)] = _text(value)
    return action.name, parameters


def parameter_of_field(field: str) -> str:
    """The parameter that an action's field is written as."""
    return _PARAMETER_OF_FIELD.get(field, field)


def _parameter(name: str, written: str, fields: Mapping[str, Any]) -> str:
    for candidate in (written, *_OTHER_SPELLINGS.get(written, ())):
        if candidate in fields:
            return candidate
    raise BadArgument(f"{name} takes no {written[:80]!r}")


def _value(name: str, field: str, value: Any, pixel_size: tuple[float, float] | None) -> Any:
    if field in _POINT_FIELDS:
        return _point(name, field, value, pixel_size)
    if field == "keys":
        if not isinstance(value, str | list | tuple):
            raise BadArgument(f"{name} takes keys, got {type(value).__name__}")
        words = split_combination(value) if isinstance(value, str) else list(value)
        if len(words) > MAX_HOTKEY_KEYS:
            raise BadArgument(f"{name} takes at most {MAX_HOTKEY_KEYS} keys, got {len(words)}")
        return tuple(_key(name, word) for word in words)
    if field == "key":
        return _key(name, value)
    if field == "seconds":
        return _seconds(name, value)
    if not isinstance(value, str):
        raise BadArgument(f"{name}: {field} takes text, got {type(value).__name__}")
    return value.strip().lower() if field in ("direction", "button") else value


def _point(name: str, field: str, value: Any, pixel_size: tuple[float, float] | None) -> Point:
    if isinstance(value, Point):
        return value
    numbers = None
    if isinstance(value, str):
        numbers = _point_numbers(value)
    elif isinstance(value, list | tuple):
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            numbers = [float(number) for number in value]
    if numbers is None or len(numbers) not in (2, 4):
        raise BadArgument(f"{name}: {field} takes <point>x y</point>, got {str(value)[:80]!r}")
    if len(numbers) == 4:  # a box: its centre
        numbers = [(numbers[0] + numbers[2]) / 2, (numbers[1] + numbers[3]) / 2]
    x, y = numbers
    return Point(x, y) if pixel_size is None else Point.from_pixels(x, y, *pixel_size)


def _point_numbers(text: str) -> list[float] | None:
    """The numbers of `<point>x y</point>`, `<bbox>x y x y</bbox>`, `<|box_start|>(x,y)<|box_end|>`, `[x, y]`, `x y`,
    and of a box by its corners, `(x,y),(x,y)`.

    A marker that is missing or of another kind, as models write them, changes nothing.
    """
    if len(text) > _MAX_POINT_CHARACTERS or not (marked := _MARKED.fullmatch(text)):
        return None
    text = marked[1]
    for _ in range(2):  # [[x, y]] is a list of one point
        if text[:1] + text[-1:] in ("()", "[]"):
            text = text[1:-1].strip()
    text = _BETWEEN_CORNERS.sub(", ", text, count=1)
    if not _NUMBERS.fullmatch(text):
        return None
    return [float(number) for number in re.split(r"[\s,]+", text)]


def _key(name: str, value: Any) -> str:
    key = canonical_key(value) if isinstance(value, str) else None
    if key is None:
        raise BadArgument(f"{name}: there is no key {str(value)[:80]!r}")
    return key


def _seconds(name: str, value: Any) -> float:
    seconds = math.nan
    if isinstance(value, str):
        seconds = float(value) if re.fullmatch(_NUMBER, value.strip()) else math.nan
    elif not isinstance(value, bool):
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            seconds = float(value)
    if not math.isfinite(seconds):
        raise BadArgument(f"{name}: time takes a number of seconds, got {str(value)[:80]!r}")
    return seconds


def _text(value: Any) -> str:
    if isinstance(value, Point):
        return f"<point>{_number_text(value.x)} {_number_text(value.y)}</point>"
    if isinstance(value, tuple):
        return join_combination(value)
    return value if isinstance(value, str) else _number_text(value)


def _number_text(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else repr(float(number))
