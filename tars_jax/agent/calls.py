"""Calls, as a function's name and parameters: the lenient way into typed actions, and the canonical way out."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.agent.actions import (
    FUNCTIONS,
    GRID,
    MAX_HOTKEY_KEYS,
    Action,
    BadArgument,
    Click,
    MissingArgument,
    Point,
    Scroll,
    ToolCall,
    Type,
)
from tars_jax.agent.functions import action_named, function_named, tool_call, unknown_function
from tars_jax.agent.keys import canonical_key, join_combination, split_combination
from tars_jax.agent.spellings import function_of, parameter_of, plain
from tars_jax.environment import ActionSpace

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_NUMBERS = re.compile(rf"{_NUMBER}(?:[\s,]+{_NUMBER}){{1,3}}")
_MARKER = r"(?:<\|box_(?:start|end)\|>|</?(?:point|bbox)>)"
_BETWEEN_CORNERS = re.compile(r"[)\]]\s*,?\s*[(\[]")
_MARKED = re.compile(rf"\s*(?:{_MARKER}\s*)?(.*?)\s*(?:{_MARKER}\s*)?", re.DOTALL)
_MAX_POINT_CHARACTERS = 200
_PARAMETER_OF_FIELD = {"keys": "key", "seconds": "time"}
_POINT_FIELDS = frozenset({"point", "start_point", "end_point"})
_NUMBER_ONLY = re.compile(_NUMBER)
_DURATION = re.compile(rf"({_NUMBER})\s*(?:s|secs?|seconds?)?", re.IGNORECASE)


def action_from_call(
    name: str,
    parameters: Mapping[str, Any],
    *,
    space: ActionSpace | None = None,
    pixel_size: tuple[float, float] | None = None,
) -> Action:
    """The typed action of a call.

    Args:
      name: the function, one of `FUNCTIONS` or another spelling of one (spellings.py), or a function of `space`.
      parameters: values by name, as text or typed: a point may be a `Point`, a pair, or any spelling of the grammars.
      space: what there is: its functions become a `ToolCall`, GUI actions that it lacks are unknown; all without one.
      pixel_size: (width, height) of the image that the policy saw, if it gives points in that image's pixels.

    Raises:
      ActionError: there is no such function.
      MissingArgument, BadArgument: its parameters are not what it takes.
    """
    if function := function_named(name, space):
        return tool_call(function, parameters)
    kind = _kind(name, space)
    fields = _fields(kind)
    values: dict[str, Any] = {}
    for written, value in _with_point(kind, parameters).items():
        parameter = parameter_of(written, fields)
        if parameter is None:
            raise BadArgument(
                f"{kind.name}: a parameter must be one of {', '.join(fields) or 'none'}; got {written[:80]!r}"
            )
        field = fields[parameter].name
        if field in values:
            raise BadArgument(f"{kind.name}: {parameter} is given twice")
        values[field] = _value(kind.name, field, value, pixel_size)
    for parameter, required in fields.items():
        if required.name in values or required.default is not dataclasses.MISSING:
            continue
        if kind is Scroll and parameter == "point":
            values["point"] = None
        else:
            raise MissingArgument(f"{kind.name}: {parameter} is missing")
    action: Action = kind(**values)
    return action


def actions_from_call(
    name: str,
    parameters: Mapping[str, Any],
    positional: Sequence[str] = (),
    *,
    space: ActionSpace | None = None,
    pixel_size: tuple[float, float] | None = None,
) -> tuple[Action, ...]:
    """Actions of a policy's call: one action, or for `type` with a point a click there and then the typing.

    Args:
      positional: values that were written without a name, which stand before all others.

    Raises: as `action_from_call`.
    """
    if function := function_named(name, space):
        return (tool_call(function, parameters, positional),)
    kind = _kind(name, space)
    if positional:
        parameters = _named(kind, positional, parameters)
    if kind is not Type:
        return (action_from_call(name, parameters, space=space, pixel_size=pixel_size),)
    of_click = _fields(Click)
    where = {key: value for key, value in parameters.items() if key in ("x", "y") or parameter_of(key, of_click)}
    rest = {key: value for key, value in parameters.items() if key not in where}
    click = [action_from_call(Click.name, where, space=space, pixel_size=pixel_size)] if where else []
    return (*click, action_from_call(name, rest, space=space))


def points_only(name: str, space: ActionSpace | None) -> bool:
    """Whether no value of a function can hold a quote: it has a point and neither text nor keys."""
    function = None if function_named(name, space) else function_of(name)
    fields = {field.name for field in dataclasses.fields(FUNCTIONS[function])} if function else set()
    return bool(fields & _POINT_FIELDS) and fields <= _POINT_FIELDS | {"direction", "button"}


def call_of(action: Action, pixel_size: tuple[float, float] | None = None) -> tuple[str, dict[str, Any]]:
    """The call of an action in canonical spelling: (function, parameters); parameters at default left out.

    Parameters are text, but those of a `ToolCall`, which are JSON. Points stand in whole pixels of an image of
    `pixel_size`, (width, height), if one is given.
    """
    if isinstance(action, ToolCall):
        return action.name, dict(action.parameters)
    parameters = {}
    for field in dataclasses.fields(action):
        value = getattr(action, field.name)
        if value is None or (field.default is not dataclasses.MISSING and value == field.default):
            continue
        if isinstance(value, Point) and pixel_size is not None:
            value = tuple(round(at * side / GRID) for at, side in zip((value.x, value.y), pixel_size, strict=True))
            parameters[parameter_of_field(field.name)] = f"<point>{value[0]} {value[1]}</point>"
        else:
            parameters[parameter_of_field(field.name)] = _text(value)
    return action.name, parameters


def parameter_of_field(field: str) -> str:
    """The parameter that an action's field is written as."""
    return _PARAMETER_OF_FIELD.get(field, field)


def _kind(name: str, space: ActionSpace | None) -> type[Any]:
    action = action_named(name, space)
    if action is None:
        raise unknown_function(name, space)
    return FUNCTIONS[action]


def _fields(kind: type[Any]) -> dict[str, dataclasses.Field[Any]]:
    return {parameter_of_field(field.name): field for field in dataclasses.fields(kind)}


def _with_point(kind: type[Any], parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """Joins `x` and `y` to the point of a function that has one."""
    if not {"x", "y"} <= parameters.keys() or "point" not in _fields(kind):
        return parameters
    rest = {name: value for name, value in parameters.items() if name not in ("x", "y")}
    if "point" in rest:
        raise BadArgument(f"{kind.name}: point is given twice")
    return {"point": f"{parameters['x']} {parameters['y']}", **rest}


def _named(kind: type[Any], positional: Sequence[str], parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """Values without a name as those of a function's parameters in their order; a pair of numbers is one point."""
    fields = _fields(kind)
    unnamed, named = list(positional), {}
    for parameter, field in fields.items():
        if not unnamed:
            break
        if kind is Scroll and parameter == "point" and len(unnamed) == 1 and not parameters:
            continue  # the one value is the direction
        value = unnamed.pop(0)
        if field.name in _POINT_FIELDS and unnamed and all(map(_NUMBER_ONLY.fullmatch, (value, unnamed[0]))):
            value = f"{value} {unnamed.pop(0)}"
        named[parameter] = value
    if unnamed:
        raise BadArgument(f"{kind.name} must have no further argument; got {unnamed[0][:80]!r}")
    if twice := named.keys() & {parameter_of(written, fields) for written in parameters}:
        raise BadArgument(f"{kind.name}: {min(twice)} is given twice")
    return {**named, **parameters}


def _value(name: str, field: str, value: Any, pixel_size: tuple[float, float] | None) -> Any:
    if field in _POINT_FIELDS:
        return _point(name, field, value, pixel_size)
    if field == "keys":
        if not isinstance(value, str | list | tuple):
            raise BadArgument(f"{name}: key must be names of keys; got {type(value).__name__}")
        words = split_combination(value) if isinstance(value, str) else list(value)
        if len(words) > MAX_HOTKEY_KEYS:
            raise BadArgument(f"{name}: key must name at most {MAX_HOTKEY_KEYS} keys; got {len(words)}")
        return tuple(_key(name, word) for word in words)
    if field == "key":
        return _key(name, value)
    if field == "seconds":
        return _seconds(name, value)
    if not isinstance(value, str):
        raise BadArgument(f"{name}: {field} must be text; got {type(value).__name__}")
    return plain(value).lower() if field in ("direction", "button") else value


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
        raise BadArgument(f"{name}: {field} must be <point>x y</point> or [x, y]; got {str(value)[:80]!r}")
    if len(numbers) == 4:  # a box: its center
        numbers = [(numbers[0] + numbers[2]) / 2, (numbers[1] + numbers[3]) / 2]
    x, y = numbers
    return Point(x, y) if pixel_size is None else Point.from_pixels(x, y, *pixel_size)


def _point_numbers(text: str) -> list[float] | None:
    """The numbers of `<point>x y</point>`, `<bbox>x y x y</bbox>`, `<|box_start|>(x,y)<|box_end|>`, `[x, y]`, `x y`,
    and of a box by its corners, `(x,y),(x,y)`.

    A marker that is missing or of another kind, as models write them, changes nothing.
    """
    if len(text) > _MAX_POINT_CHARACTERS or not (marked := _MARKED.fullmatch(plain(text))):
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
        raise BadArgument(f"{name}: a key must be one of a keyboard; got {str(value)[:80]!r}")
    return key


def _seconds(name: str, value: Any) -> float:
    seconds = math.nan
    if isinstance(value, str):
        seconds = float(written[1]) if (written := _DURATION.fullmatch(plain(value))) else math.nan
    elif not isinstance(value, bool):
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            seconds = float(value)
    if not math.isfinite(seconds):
        raise BadArgument(f"{name}: time must be a number of seconds; got {str(value)[:80]!r}")
    return seconds


def _text(value: Any) -> str:
    if isinstance(value, Point):
        return f"<point>{_number_text(value.x)} {_number_text(value.y)}</point>"
    if isinstance(value, tuple):
        return join_combination(value)
    return value if isinstance(value, str) else _number_text(value)


def _number_text(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else repr(float(number))
