"""Typed actions: one frozen dataclass per call of the action grammars.

Sources: the UI-TARS action spaces (computer, mobile, browser) and the tool form of UI-TARS-2. Points lie on a grid of
0..1000 in both directions, whatever the size of the screen. A constructed action is always valid; `action_from_call`
is the lenient way in (strings, other spellings), `call_of` the canonical way out.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from typing import Any, ClassVar, get_args

from tars_jax import InputError
from tars_jax.agent.keys import canonical_key, is_key, split_combination

GRID = 1000
DIRECTIONS = ("up", "down", "left", "right")
BUTTONS = ("left", "right")
DEFAULT_WAIT_SECONDS = 5.0
MAX_WAIT_SECONDS = 60.0
MAX_HOTKEY_KEYS = 3

NAME_PATTERN = r"[A-Za-z_][A-Za-z0-9_.-]*"
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_NUMBERS = re.compile(rf"{_NUMBER}(?:[\s,]+{_NUMBER}){{1,3}}")
_MAX_POINT_CHARACTERS = 200


class ActionError(InputError):
    """A call names no function that exists."""


class MissingArgument(ActionError):
    """A call lacks a parameter that its function needs."""


class BadArgument(ActionError):
    """A parameter has an unknown name or an impossible value."""


@dataclasses.dataclass(frozen=True)
class Point:
    """A place on the screen, 0..1000 from left to right and from top to bottom."""

    x: float
    y: float

    def __post_init__(self) -> None:
        if not (0 <= self.x <= GRID and 0 <= self.y <= GRID):
            raise BadArgument(f"a point takes x and y of 0..{GRID}, got ({self.x}, {self.y})")

    def pixels(self, width: float, height: float) -> tuple[float, float]:
        """The place in pixels of a screen of `width` x `height`; always inside it."""
        return min(self.x * width / GRID, width - 1), min(self.y * height / GRID, height - 1)

    @classmethod
    def from_pixels(cls, x: float, y: float, width: float, height: float) -> Point:
        return cls(x * GRID / width, y * GRID / height)


@dataclasses.dataclass(frozen=True)
class Click:
    name: ClassVar[str] = "click"
    point: Point


@dataclasses.dataclass(frozen=True)
class LeftDouble:
    name: ClassVar[str] = "left_double"
    point: Point


@dataclasses.dataclass(frozen=True)
class RightSingle:
    name: ClassVar[str] = "right_single"
    point: Point


@dataclasses.dataclass(frozen=True)
class Drag:
    name: ClassVar[str] = "drag"
    start_point: Point
    end_point: Point


@dataclasses.dataclass(frozen=True)
class Hotkey:
    """Keys held down together, at most three, in the spelling of `keys.py`."""

    name: ClassVar[str] = "hotkey"
    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.keys) <= MAX_HOTKEY_KEYS:
            raise BadArgument(f"hotkey takes 1 to {MAX_HOTKEY_KEYS} keys, got {len(self.keys)}")
        for key in self.keys:
            _check_key(self.name, key)


@dataclasses.dataclass(frozen=True)
class Type:
    """Text to type. Each newline in it is one press of Enter, so a trailing one submits, once."""

    name: ClassVar[str] = "type"
    content: str


@dataclasses.dataclass(frozen=True)
class Scroll:
    """A turn of the wheel over `point`, or over the mouse's present place if there is none."""

    name: ClassVar[str] = "scroll"
    point: Point | None
    direction: str

    def __post_init__(self) -> None:
        _check_choice(self.name, "direction", self.direction, DIRECTIONS)


@dataclasses.dataclass(frozen=True)
class Wait:
    name: ClassVar[str] = "wait"
    seconds: float = DEFAULT_WAIT_SECONDS

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= MAX_WAIT_SECONDS:
            raise BadArgument(f"wait takes a time of 0 to {MAX_WAIT_SECONDS:g} seconds, got {self.seconds}")


@dataclasses.dataclass(frozen=True)
class Finished:
    name: ClassVar[str] = "finished"
    content: str = ""


@dataclasses.dataclass(frozen=True)
class CallUser:
    name: ClassVar[str] = "call_user"


@dataclasses.dataclass(frozen=True)
class LongPress:
    name: ClassVar[str] = "long_press"
    point: Point


@dataclasses.dataclass(frozen=True)
class OpenApp:
    name: ClassVar[str] = "open_app"
    app_name: str


@dataclasses.dataclass(frozen=True)
class PressHome:
    name: ClassVar[str] = "press_home"


@dataclasses.dataclass(frozen=True)
class PressBack:
    name: ClassVar[str] = "press_back"


@dataclasses.dataclass(frozen=True)
class Navigate:
    """Open the address `content`."""

    name: ClassVar[str] = "navigate"
    content: str


@dataclasses.dataclass(frozen=True)
class NavigateBack:
    name: ClassVar[str] = "navigate_back"


@dataclasses.dataclass(frozen=True)
class Press:
    """Hold a key down until it is released."""

    name: ClassVar[str] = "press"
    key: str

    def __post_init__(self) -> None:
        _check_key(self.name, self.key)


@dataclasses.dataclass(frozen=True)
class Release:
    name: ClassVar[str] = "release"
    key: str

    def __post_init__(self) -> None:
        _check_key(self.name, self.key)


@dataclasses.dataclass(frozen=True)
class MouseDown:
    """Hold a mouse button down at `point`, or at the mouse's present place if there is none."""

    name: ClassVar[str] = "mouse_down"
    point: Point | None = None
    button: str = "left"

    def __post_init__(self) -> None:
        _check_choice(self.name, "button", self.button, BUTTONS)


@dataclasses.dataclass(frozen=True)
class MouseUp:
    name: ClassVar[str] = "mouse_up"
    point: Point | None = None
    button: str = "left"

    def __post_init__(self) -> None:
        _check_choice(self.name, "button", self.button, BUTTONS)


@dataclasses.dataclass(frozen=True)
class MoveTo:
    name: ClassVar[str] = "move_to"
    point: Point


@dataclasses.dataclass(frozen=True)
class ToolCall:
    """A call of a tool that is no GUI action (execute_bash, Search, a tool of an MCP server); all values are text."""

    name: str
    parameters: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name in (self.name, *self.parameters):
            if not re.fullmatch(NAME_PATTERN, name):
                raise BadArgument(f"a tool's names are letters, digits and . _ -, got {name!r}")
        if self.name in FUNCTIONS:
            raise BadArgument(f"{self.name} is a GUI action and cannot name a tool")
        for parameter, value in self.parameters.items():
            if not isinstance(value, str):
                raise BadArgument(f"{self.name}: {parameter} takes text, got {type(value).__name__}")


GuiAction = (
    Click
    | LeftDouble
    | RightSingle
    | Drag
    | Hotkey
    | Type
    | Scroll
    | Wait
    | Finished
    | CallUser
    | LongPress
    | OpenApp
    | PressHome
    | PressBack
    | Navigate
    | NavigateBack
    | Press
    | Release
    | MouseDown
    | MouseUp
    | MoveTo
)
Action = GuiAction | ToolCall

FUNCTIONS: dict[str, type[Any]] = {kind.name: kind for kind in get_args(GuiAction)}

_PARAMETER_OF_FIELD = {"keys": "key", "seconds": "time"}
_POINT_FIELDS = frozenset({"point", "start_point", "end_point"})
_OTHER_SPELLINGS = {  # what models and older prompts write -> the parameters it may stand for
    "start_box": ("start_point", "point"),
    "end_box": ("end_point",),
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
    fields = {_PARAMETER_OF_FIELD.get(field.name, field.name): field for field in dataclasses.fields(kind)}
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
        parameters[_PARAMETER_OF_FIELD.get(field.name, field.name)] = _text(value)
    return action.name, parameters


def action_point(action: Action) -> Point | None:
    """Where an action points: its point, or where a drag ends."""
    point = getattr(action, "end_point", None) or getattr(action, "point", None)
    return point if isinstance(point, Point) else None


def _parameter(name: str, written: str, fields: Mapping[str, Any]) -> str:
    for candidate in (written, *_OTHER_SPELLINGS.get(written, ())):
        if candidate in fields:
            return candidate
    raise BadArgument(f"{name} takes no {written[:80]!r}")


def _value(name: str, field: str, value: Any, pixel_size: tuple[float, float] | None) -> Any:
    if field in _POINT_FIELDS:
        return _point(name, field, value, pixel_size)
    if field == "keys":
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
    try:
        numbers = _point_numbers(value) if isinstance(value, str) else [float(number) for number in value]
    except (TypeError, ValueError):
        numbers = None
    if numbers is None or len(numbers) not in (2, 4):
        raise BadArgument(f"{name}: {field} takes <point>x y</point>, got {str(value)[:80]!r}")
    if len(numbers) == 4:  # a box: its centre
        numbers = [(numbers[0] + numbers[2]) / 2, (numbers[1] + numbers[3]) / 2]
    x, y = numbers
    return Point(x, y) if pixel_size is None else Point.from_pixels(x, y, *pixel_size)


def _point_numbers(text: str) -> list[float] | None:
    """The numbers of `<point>x y</point>`, `<bbox>x y x y</bbox>`, `<|box_start|>(x,y)<|box_end|>`, `[x, y]`, `x y`."""
    if len(text) > _MAX_POINT_CHARACTERS:
        return None
    text = text.strip()
    for opening, closing in (("<|box_start|>", "<|box_end|>"), ("<point>", "</point>"), ("<bbox>", "</bbox>")):
        if text.startswith(opening) and text.endswith(closing):
            text = text[len(opening) : -len(closing)].strip()
    if text[:1] + text[-1:] in ("()", "[]"):
        text = text[1:-1].strip()
    if not _NUMBERS.fullmatch(text):
        return None
    return [float(number) for number in re.split(r"[\s,]+", text)]


def _key(name: str, value: Any) -> str:
    key = canonical_key(value) if isinstance(value, str) else None
    if key is None:
        raise BadArgument(f"{name}: there is no key {str(value)[:80]!r}")
    return key


def _seconds(name: str, value: Any) -> float:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        raise BadArgument(f"{name}: time takes a number of seconds, got {str(value)[:80]!r}") from None
    if not math.isfinite(seconds):
        raise BadArgument(f"{name}: time takes a number of seconds, got {str(value)[:80]!r}")
    return seconds


def _text(value: Any) -> str:
    if isinstance(value, Point):
        return f"<point>{_number_text(value.x)} {_number_text(value.y)}</point>"
    if isinstance(value, tuple):
        return " ".join(value)
    return value if isinstance(value, str) else _number_text(value)


def _number_text(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else repr(float(number))


def _check_key(name: str, key: str) -> None:
    if not is_key(key):
        raise BadArgument(f"{name}: there is no key {key!r}")


def _check_choice(name: str, parameter: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise BadArgument(f"{name}: {parameter} takes {', '.join(choices)}, got {str(value)[:80]!r}")
