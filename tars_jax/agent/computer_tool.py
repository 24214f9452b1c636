"""Actions as OpenAI's computer tool has them, into ours and out of ours.

    {"type": "click", "button": "left", "x": 120, "y": 48}      click(point='<point>375 150</point>')
    double_click, move, drag (a path), scroll (pixels), type, keypress (keys), wait, screenshot

Theirs point in pixels of the screenshot, ours on a grid of 0 to 1000 in whole numbers, as policies write it. Both tools
have these actions: `computer`, whose calls hold several, and `computer_use_preview`, whose calls hold one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.agent.actions import (
    GRID,
    Action,
    BadArgument,
    Click,
    Drag,
    Hotkey,
    LeftDouble,
    MissingArgument,
    MoveTo,
    NavigateBack,
    Point,
    RightSingle,
    Scroll,
    Type,
    Wait,
)
from tars_jax.agent.calls import action_from_call
from tars_jax.agent.schemas import to_json
from tars_jax.environment import ActionSpace

COMPUTER, PREVIEW = "computer", "computer_use_preview"
COMPUTER_TOOLS = (COMPUTER, PREVIEW)
END, ACKNOWLEDGE = "end", "acknowledge"
SAFETY_CHECKS = (END, ACKNOWLEDGE)  # what becomes of an episode when the endpoint wants a person to look
# What the tool has a form for. `finished` is an answer in words alone; the others can only be functions beside it.
FORMS = frozenset(
    {"click", "left_double", "right_single", "drag", "hotkey", "type", "scroll", "wait", "move_to", "finished"}
)
SCROLL_PIXELS = 300  # of a scroll of ours: three notches of a wheel
MOST_SCROLLS = 10  # that one of theirs is
WAIT_SECONDS = 2.0  # theirs says no time
_KEYS = {"up": "ARROWUP", "down": "ARROWDOWN", "left": "ARROWLEFT", "right": "ARROWRIGHT", "escape": "ESC"}
_MIDDLE = Point(GRID / 2, GRID / 2)

Size = tuple[int, int]  # width and height of the display, in pixels


def read_computer_action(action: Any, space: ActionSpace, size: Size) -> tuple[Action, ...]:
    """The actions that one of theirs is; none for a screenshot, which follows every turn.

    Raises ActionError for one that there is not, that lacks something, or that the space has not.
    """
    if not isinstance(action, Mapping) or not isinstance(kind := action.get("type"), str):
        raise BadArgument(f"an action of the computer tool must be an object with a type; got {_shown(action)}")

    def at(place: Any) -> Point:
        return _point(kind, place, size)

    def ours(name: str, **parameters: Any) -> Action:
        return action_from_call(name, parameters, space=space)

    match kind:
        case "screenshot":
            return ()
        case "click":
            button = action.get("button", "left")
            names = {"left": Click.name, "right": RightSingle.name, "back": NavigateBack.name}
            if not isinstance(button, str) or button not in names:
                raise BadArgument(f"click: button must be one of {', '.join(names)}; got {_shown(button)}")
            where = {} if button == "back" else {"point": at(action)}
            made: tuple[Action, ...] = (ours(names[button], **where),)
        case "double_click":
            made = (ours(LeftDouble.name, point=at(action)),)
        case "move":
            made = (ours(MoveTo.name, point=at(action)),)
        case "drag":
            made = _dragged([at(place) for place in _path(action)], space, ours)
        case "scroll":
            made = tuple(
                ours(Scroll.name, point=at(action), direction=direction) for direction in _directions(kind, action)
            )
        case "type":
            made = (ours(Type.name, content=_required(kind, action, "text")),)
        case "keypress":
            made = (ours(Hotkey.name, key=_required(kind, action, "keys")),)
        case "wait":
            made = (ours(Wait.name, time=WAIT_SECONDS),)
        case _:
            raise BadArgument(
                "an action of the computer tool must be click, double_click, drag, keypress, move, screenshot, scroll, "
                f"type or wait; got {kind[:80]!r}"
            )
    held = action.get("keys") if kind != "keypress" else None
    if not held:
        return made
    if not isinstance(held, list):
        raise BadArgument(f"{kind}: keys must be a list of keys; got {_shown(held)}")
    pressed = tuple(ours("press", key=key) for key in held)
    return (*pressed, *made, *(ours("release", key=key) for key in reversed(held)))


def computer_action(action: Action, size: Size) -> dict[str, Any] | None:
    """One of ours as theirs; None for one that the tool has no form for."""

    def at(point: Point | None) -> dict[str, int]:
        x, y = (point or _MIDDLE).pixels(*size)
        return {"x": round(x), "y": round(y)}

    match action:
        case Click(point):
            return {"type": "click", "button": "left", **at(point)}
        case RightSingle(point):
            return {"type": "click", "button": "right", **at(point)}
        case NavigateBack():
            return {"type": "click", "button": "back", **at(None)}
        case LeftDouble(point):
            return {"type": "double_click", **at(point)}
        case MoveTo(point):
            return {"type": "move", **at(point)}
        case Drag(start, end):
            return {"type": "drag", "path": [at(start), at(end)]}
        case Scroll(point, direction):
            by = -SCROLL_PIXELS if direction in ("up", "left") else SCROLL_PIXELS
            across = direction in ("left", "right")
            return {"type": "scroll", **at(point), "scroll_x": by if across else 0, "scroll_y": 0 if across else by}
        case Hotkey(keys):
            return {"type": "keypress", "keys": [_KEYS.get(key, key.upper()) for key in keys]}
        case Type(content):
            return {"type": "type", "text": content}
        case Wait():
            return {"type": "wait"}
    return None


def _point(kind: str, place: Any, size: Size) -> Point:
    x, y = (place.get("x"), place.get("y")) if isinstance(place, Mapping) else (None, None)
    for side, most in zip((x, y), size, strict=True):
        if isinstance(side, bool) or not isinstance(side, int | float) or not 0 <= side <= most:
            got = f"({_shown(x)}, {_shown(y)})"
            raise BadArgument(f"{kind}: x and y must be pixels of a display of {size[0]}x{size[1]}; got {got}")
    assert x is not None and y is not None
    return Point(round(x * GRID / size[0]), round(y * GRID / size[1]))


def _path(action: Mapping[str, Any]) -> Sequence[Any]:
    path = action.get("path")
    if not isinstance(path, list) or len(path) < 2:
        raise BadArgument(f"drag: path must be a list of two places or more; got {_shown(path)}")
    return path


def _dragged(path: Sequence[Point], space: ActionSpace, ours: Any) -> tuple[Action, ...]:
    """A drag; a path with corners as a held button, where the space can hold one, else from beginning to end."""
    if len(path) == 2 or not {"mouse_down", "move_to", "mouse_up"} <= {*space.actions}:
        return (ours(Drag.name, start_point=path[0], end_point=path[-1]),)
    between = (ours(MoveTo.name, point=point) for point in path[1:])
    return (ours("mouse_down", point=path[0]), *between, ours("mouse_up", point=path[-1]))


def _directions(kind: str, action: Mapping[str, Any]) -> list[str]:
    """The scrolls of ours that one of theirs is, as near as whole ones come."""
    found: list[str] = []
    for name, ways in (("scroll_y", ("up", "down")), ("scroll_x", ("left", "right"))):
        by = action.get(name) or 0
        if isinstance(by, bool) or not isinstance(by, int | float):
            raise BadArgument(f"{kind}: {name} must be a number of pixels; got {_shown(by)}")
        if by:
            found += [ways[by > 0]] * max(1, min(MOST_SCROLLS, round(abs(by) / SCROLL_PIXELS)))
    if not found:
        raise BadArgument(f"{kind}: scroll_x or scroll_y must be pixels; got none")
    return found


def _required(kind: str, action: Mapping[str, Any], name: str) -> Any:
    if action.get(name) is None:
        raise MissingArgument(f"{kind}: {name} is missing")
    return action[name]


def _shown(value: Any) -> str:
    try:
        return to_json(value)[:80]
    except (TypeError, ValueError):
        return repr(value)[:80]
