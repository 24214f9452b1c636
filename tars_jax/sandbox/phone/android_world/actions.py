"""AndroidWorld's actions: JSON objects with an `action_type`, and what each does to a phone.

The shapes and their meaning are those of `android_world/env/json_action.py` and `actuation.py`: scroll names what is
to be seen and swipe where the finger goes (across: where it comes from); input_text ends with Enter; wait is one
second; status and answer leave the phone alone. An `index` counts the elements of the screen,
as `uiautomator dump` lists them.
"""

from __future__ import annotations

import asyncio
import dataclasses
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.json_fields import is_text, short_repr
from tars_jax.sandbox.phone.phone import Phone

TYPES = (
    "answer", "click", "double_tap", "input_text", "keyboard_enter", "long_press", "navigate_back", "navigate_home",
    "open_app", "scroll", "status", "swipe", "unknown", "wait",
)  # fmt: skip
DIRECTIONS = ("left", "right", "down", "up")
MOST = 1 << 15  # of a coordinate or an index
WAIT_SECONDS = 1.0
FOCUS_SECONDS = 1.0  # between the click into a field and its text
SCROLL_MS, SWIPE_MS = 300, 500
DUMP = "/sdcard/window_dump.xml"
BOUNDS = re.compile(r"\[(-?\d+),(-?\d+)\]\[(-?\d+),(-?\d+)\]")
MOST_BYTES = 8 << 20
Bounds = tuple[int, int, int, int]


@dataclasses.dataclass(frozen=True)
class AndroidWorldAction:
    """An action of AndroidWorld. Raises InputError for what AndroidWorld refuses, too."""

    action_type: str
    index: int | None = None
    x: int | None = None
    y: int | None = None
    text: str | None = None
    direction: str | None = None
    goal_status: str | None = None
    app_name: str | None = None
    keycode: str | None = None
    clear_text: bool | None = None

    def __post_init__(self) -> None:
        if self.action_type not in TYPES:
            raise InputError(f"action_type must be one of {', '.join(TYPES)}; got {short_repr(self.action_type)}")
        if self.index is not None and (self.x is not None or self.y is not None):
            raise InputError("an action must have index, or x and y; got both")
        if self.direction and self.direction not in DIRECTIONS:
            raise InputError(f"direction must be one of {', '.join(DIRECTIONS)}; got {short_repr(self.direction)}")
        if self.keycode is not None and not self.keycode.startswith("KEYCODE_"):
            raise InputError(f"keycode must begin with KEYCODE_; got {short_repr(self.keycode)}")

    @property
    def points(self) -> bool:
        return self.index is not None or (self.x is not None and self.y is not None)

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in dataclasses.asdict(self).items() if value is not None}


FIELDS = {field.name for field in dataclasses.fields(AndroidWorldAction)}


def read_action(values: Mapping[str, Any]) -> AndroidWorldAction:
    """An action from JSON; numbers may be texts of numbers, and a text a number. Raises InputError."""
    for name in values:
        if name not in FIELDS:
            raise InputError(f"an action must have no field but {', '.join(sorted(FIELDS))}; got {short_repr(name)}")
    read = dict(values)
    for name in ("index", "x", "y"):
        if (value := values.get(name)) is not None:
            read[name] = _whole(name, value)
    if isinstance(text := values.get("text"), int | float):
        read["text"] = str(text)
    for name in ("action_type", "text", "direction", "goal_status", "app_name", "keycode"):
        if read.get(name) is not None and not is_text(read[name]):
            raise InputError(f"{name} must be text; got {short_repr(read[name])}")
    if not isinstance(read.get("clear_text"), bool | None):
        raise InputError(f"clear_text must be true or false; got {short_repr(read['clear_text'])}")
    return AndroidWorldAction(**{"action_type": "", **read})


def _whole(name: str, value: Any) -> int:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = -1.0
    if isinstance(value, bool) or not 0 <= number < MOST:  # NaN is neither
        raise InputError(f"{name} must be a number from 0 to {MOST - 1}; got {short_repr(value)}")
    return int(number)


async def perform(phone: Phone, action: AndroidWorldAction) -> None:
    """Does it. Raises InputError for an action that lacks what it needs, SandboxFailure."""
    kind = action.action_type
    if kind in ("click", "double_tap", "long_press"):
        await _point(phone, action, kind)
    elif kind == "input_text":
        await _input_text(phone, action)
    elif kind == "keyboard_enter":
        await phone.press_enter()
    elif kind == "navigate_home":
        await phone.press_home()
    elif kind == "navigate_back":
        await phone.press_back()
    elif kind in ("scroll", "swipe"):
        await _move(phone, action)
    elif kind == "open_app":
        if not action.app_name:
            raise InputError("open_app must have an app_name; got none")
        await phone.open_app(action.app_name)
    elif kind == "wait":
        await asyncio.sleep(WAIT_SECONDS)


async def _point(phone: Phone, action: AndroidWorldAction, kind: str) -> None:
    x, y = await _place(phone, action)
    act = {"click": phone.click, "double_tap": phone.double_click, "long_press": phone.long_press}[kind]
    await act(x, y)


async def _place(phone: Phone, action: AndroidWorldAction) -> tuple[int, int]:
    if action.index is not None:
        left, top, right, bottom = await _bounds(phone, action.index)
        return (left + right) // 2, (top + bottom) // 2
    if action.x is None or action.y is None:
        raise InputError(f"{action.action_type} must have index, or x and y; got {action.to_json()}")
    return action.x, action.y


async def _bounds(phone: Phone, index: int) -> tuple[int, int, int, int]:
    elements = await element_bounds(phone)
    if index >= len(elements):
        raise InputError(f"index must be 0 to {len(elements) - 1} on this screen; got {index}")
    return elements[index]


async def _input_text(phone: Phone, action: AndroidWorldAction) -> None:
    if not action.text:
        return  # as AndroidWorld does
    if action.points:
        await _point(phone, action, "click")
        await asyncio.sleep(FOCUS_SECONDS)
    if action.clear_text:
        await phone.clear_text()
    await phone.type(action.text)
    await phone.press_enter()


async def _move(phone: Phone, action: AndroidWorldAction) -> None:
    if not action.direction:
        raise InputError(f"{action.action_type} must have a direction; got none")
    width, height = await phone.size()
    left, top, right, bottom = 0, 0, width, height
    scrolls = action.action_type == "scroll"
    if scrolls and action.index is not None:
        box = await _bounds(phone, action.index)
        left, top, right, bottom = max(box[0], 0), max(box[1], 0), min(box[2], width), min(box[3], height)
    x, y = (left + right) // 2, (top + bottom) // 2
    ends = {"left": (left, y), "right": (right, y), "up": (x, top), "down": (x, bottom)}
    opposite = {"left": "right", "right": "left", "up": "down", "down": "up"}[action.direction]
    # A scroll's finger goes from the middle against the direction; a swipe's from one side to the other, up and down
    # along the direction, and across against it, as in AndroidWorld's own code.
    along = (ends[opposite], ends[action.direction])
    swiped = along if action.direction in ("up", "down") else along[::-1]
    start, end = ((x, y), ends[opposite]) if scrolls else swiped
    inside = [(min(place[0], width - 1), min(place[1], height - 1)) for place in (start, end)]
    await phone.drag(inside[0], inside[1], SCROLL_MS if scrolls else SWIPE_MS)


async def element_bounds(phone: Phone) -> list[Bounds]:
    """Left, top, right and bottom in pixels of each element, in the order of the dump. Raises InputError."""
    result = await phone.shell("uiautomator", "dump", DUMP)
    if result.status or "ERROR" in result.text:
        raise InputError(f"the screen must be one that uiautomator can list; it said {result.text.strip()[:200]!r}")
    return read_bounds(await phone.pull(DUMP))


def read_bounds(xml: bytes) -> list[Bounds]:
    """Like `element_bounds`, of a dump's XML. Entities are none of uiautomator's, and are refused."""
    if len(xml) > MOST_BYTES or b"<!" in xml.replace(b"<!--", b""):
        raise InputError("a dump of uiautomator must be plain XML of at most 8 MiB")
    try:
        nodes = ElementTree.fromstring(xml).iter("node")
    except ElementTree.ParseError as error:
        raise InputError(f"a dump of uiautomator must be whole XML; {error}") from error
    found = (BOUNDS.fullmatch(node.get("bounds", "")) for node in nodes)
    return [(int(match[1]), int(match[2]), int(match[3]), int(match[4])) for match in found if match]
