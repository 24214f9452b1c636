"""Typed actions: one frozen dataclass per call of the action grammars.

Sources: the UI-TARS action spaces (computer, mobile, browser) and the tool form of UI-TARS-2. Points lie on a grid of
0..1000 in both directions, whatever the size of the screen. An action is made with possible values or not at
all; types are the type checker's. `calls.py` makes actions from what policies write, and writes them down.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, ClassVar, get_args

from tars_jax import InputError
from tars_jax.agent.keys import is_key
from tars_jax.agent.schemas import read_json, to_json

GRID = 1000
DIRECTIONS = ("up", "down", "left", "right")
BUTTONS = ("left", "right")
DEFAULT_WAIT_SECONDS = 5.0
MAX_WAIT_SECONDS = 60.0
MAX_HOTKEY_KEYS = 3

NAME_PATTERN = r"[A-Za-z_][A-Za-z0-9_.-]*"


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
            raise BadArgument(f"x and y of a point must be 0 to {GRID}; got ({self.x}, {self.y})")

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
            raise BadArgument(f"hotkey must have 1 to {MAX_HOTKEY_KEYS} keys; got {len(self.keys)}")
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
            raise BadArgument(f"wait: time must be 0 to {MAX_WAIT_SECONDS:g} seconds; got {self.seconds}")


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
    """A call of a function that is no GUI action (execute_bash, Search, a tool of an MCP server).

    Values are JSON. A parameter that was left out is left out here: its default is the environment's to fill in.
    """

    name: str
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name in (self.name, *self.parameters):
            if not re.fullmatch(NAME_PATTERN, name):
                raise BadArgument(f"a function's names must be letters, digits and . _ -; got {name[:80]!r}")
        if self.name in FUNCTIONS:
            raise BadArgument(f"a function's name must not be that of a GUI action; got {self.name!r}")
        values = {}
        for parameter, value in self.parameters.items():
            try:
                values[parameter] = read_json(to_json(value))
            except (TypeError, ValueError) as error:
                raise BadArgument(f"{self.name}: {parameter} must be a JSON value; {str(error)[:80]}") from error
        object.__setattr__(self, "parameters", values)


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


def action_point(action: Action) -> Point | None:
    """Point of an action, or the end of a drag."""
    point = getattr(action, "end_point", None) or getattr(action, "point", None)
    return point if isinstance(point, Point) else None


def _check_key(name: str, key: str) -> None:
    if not is_key(key):
        raise BadArgument(f"{name}: a key must be one of a keyboard; got {key!r}")


def _check_choice(name: str, parameter: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise BadArgument(f"{name}: {parameter} must be one of {', '.join(choices)}; got {str(value)[:80]!r}")
