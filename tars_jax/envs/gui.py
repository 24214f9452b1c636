"""GUI actions as input events of mouse and keyboard, in pixels.

A click, a key or a drag takes no virtual time of its own; the environment lets its game settle afterwards. Actions that
mean nothing inside one web page (navigation, mobile buttons, tools, `finished`) give no events; `acts_on_page` says so.
Neither do keys that the browser's keyboard, a US one, lacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tars_jax.agent.actions import (
    Action,
    CallUser,
    Click,
    Drag,
    Finished,
    Hotkey,
    LeftDouble,
    MouseDown,
    MouseUp,
    MoveTo,
    Point,
    Press,
    Release,
    RightSingle,
    Scroll,
    Type,
    Wait,
)
from tars_jax.environment import ActionSpace
from tars_jax.sandbox import browser
from tars_jax.sandbox.browser import InputEvent, InsertText, KeyDown, KeyUp, MouseMove, Wheel, is_key

SCROLL_PIXELS = 300  # three notches of a wheel
DRAG_MOVES = 10

Position = tuple[float, float]  # pixels

_BROWSER_KEYS = {
    "ctrl": "Control",
    "shift": "Shift",
    "alt": "Alt",
    "meta": "Meta",
    "enter": "Enter",
    "escape": "Escape",
    "backspace": "Backspace",
    "delete": "Delete",
    "insert": "Insert",
    "tab": "Tab",
    "space": " ",
    "up": "ArrowUp",
    "down": "ArrowDown",
    "left": "ArrowLeft",
    "right": "ArrowRight",
    "home": "Home",
    "end": "End",
    "pageup": "PageUp",
    "pagedown": "PageDown",
    "capslock": "CapsLock",
    **{f"f{number}": f"F{number}" for number in range(1, 13)},
}
_SCROLLS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
_PAGE_ACTIONS = (
    Click,
    Drag,
    Hotkey,
    LeftDouble,
    MouseDown,
    MouseUp,
    MoveTo,
    Press,
    Release,
    RightSingle,
    Scroll,
    Type,
    Wait,
)

PAGE_ACTIONS = ActionSpace("game", tuple(action.name for action in (*_PAGE_ACTIONS, Finished, CallUser)))


def acts_on_page(action: Action) -> bool:
    """Whether the action does anything inside a web page."""
    return isinstance(action, _PAGE_ACTIONS)


def to_events(action: Action, width: int, height: int, mouse: Position | None = None) -> tuple[list[InputEvent], float]:
    """The events of one action, and the virtual milliseconds that it takes by itself.

    Args:
      action: any action; one that means nothing inside a page gives no events.
      width, height: of the page, in pixels.
      mouse: where the mouse is, for actions without a point; the middle of the page if it was never moved.
    """
    middle = (width / 2, height / 2)

    def place(point: Point | None) -> Position:
        return point.pixels(width, height) if point is not None else mouse or middle

    match action:
        case Click(point):
            return _clicks(place(point), "left", 1), 0.0
        case LeftDouble(point):
            return _clicks(place(point), "left", 2), 0.0
        case RightSingle(point):
            return _clicks(place(point), "right", 1), 0.0
        case Drag(start_point, end_point):
            return _drag(place(start_point), place(end_point)), 0.0
        case MoveTo(point):
            return [MouseMove(*place(point))], 0.0
        case MouseDown(point, button):
            return [MouseMove(*place(point)), browser.MouseDown(*place(point), button=button)], 0.0
        case MouseUp(point, button):
            return [MouseMove(*place(point)), browser.MouseUp(*place(point), button=button)], 0.0
        case Scroll(point, direction):
            dx, dy = _SCROLLS[direction]
            return [MouseMove(*place(point)), Wheel(*place(point), dx * SCROLL_PIXELS, dy * SCROLL_PIXELS)], 0.0
        case Hotkey(keys):
            names = [browser_key(key) for key in keys if is_key(browser_key(key))]
            return [*map(KeyDown, names), *map(KeyUp, reversed(names))], 0.0
        case Press(key) if is_key(browser_key(key)):
            return [KeyDown(browser_key(key))], 0.0
        case Release(key) if is_key(browser_key(key)):
            return [KeyUp(browser_key(key))], 0.0
        case Type(content):
            return _typing(content), 0.0
        case Wait(seconds):
            return [], seconds * 1000
        case _:
            return [], 0.0


def browser_key(key: str) -> str:
    """The browser's name (`KeyboardEvent.key`) of a key in the spelling of the typed actions."""
    return _BROWSER_KEYS.get(key, key)


def mouse_after(events: Sequence[InputEvent], mouse: Position | None) -> Position | None:
    """Position of the mouse after some events, if it was at `mouse` before."""
    for event in events:
        if not isinstance(event, KeyDown | KeyUp | InsertText):
            mouse = (event.x, event.y)
    return mouse


def held_after(events: Sequence[InputEvent], held: Mapping[str, InputEvent]) -> dict[str, InputEvent]:
    """Keys and buttons held down after some events, if `held` were before: each with the event that lets go of it."""
    held = dict(held)
    for event in events:
        match event:
            case KeyDown(key):
                held[f"key {key}"] = KeyUp(key)
            case KeyUp(key):
                held.pop(f"key {key}", None)
            case browser.MouseDown(x, y, button):
                held[f"button {button}"] = browser.MouseUp(x, y, button=button)
            case browser.MouseUp(_, _, button):
                held.pop(f"button {button}", None)
    return held


def _clicks(place: Position, button: str, count: int) -> list[InputEvent]:
    events: list[InputEvent] = [MouseMove(*place)]
    for clicks in range(1, count + 1):
        events.append(browser.MouseDown(*place, button=button, clicks=clicks))
        events.append(browser.MouseUp(*place, button=button, clicks=clicks))
    return events


def _drag(start: Position, end: Position) -> list[InputEvent]:
    moves = [
        MouseMove(*(a + (b - a) * step / DRAG_MOVES for a, b in zip(start, end, strict=True)))
        for step in range(1, DRAG_MOVES + 1)
    ]
    return [MouseMove(*start), browser.MouseDown(*start), *moves, browser.MouseUp(*end)]


def _typing(content: str) -> list[InputEvent]:
    """Key by key where a keyboard has the character, so that pages which listen to keys hear it; else inserted."""
    events: list[InputEvent] = []
    for character in content.replace("\r\n", "\n"):
        if character in "\n\t":
            key = "Enter" if character == "\n" else "Tab"
            events += [KeyDown(key), KeyUp(key)]
        elif is_key(character):
            events += [KeyDown(character), KeyUp(character)]
        else:
            events.append(InsertText(character))
    return events
