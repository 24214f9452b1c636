"""Our actions in AndroidWorld's shapes, which have no drag between two places and no text without Enter after it."""

from __future__ import annotations

from typing import Any

from tars_jax import InputError
from tars_jax.agent.actions import (
    Action,
    CallUser,
    Click,
    Drag,
    Finished,
    LeftDouble,
    LongPress,
    OpenApp,
    Point,
    PressBack,
    PressHome,
    Scroll,
    Type,
    Wait,
)

_POINTED = {Click: "click", LeftDouble: "double_tap", LongPress: "long_press"}


def to_android_world(action: Action, width: int, height: int) -> list[dict[str, Any]]:
    """Converts one action to the calls that are sent for it, in order, on a screen of `width` x `height` pixels.

    A scroll moves the whole screen, whatever its point. A drag is the swipe across the screen that goes its way most:
    `swipe` names the way of the finger up and down, and its opposite to the left and right, as AndroidWorld's own code
    has it. Each line of a text is an `input_text`, whose Enter ends it. A second of waiting is a `wait`.

    Raises InputError for an action that is none of a phone.
    """

    def at(point: Point) -> dict[str, int]:
        x, y = point.pixels(width, height)
        return {"x": int(x), "y": int(y)}

    match action:
        case Click(point) | LeftDouble(point) | LongPress(point):
            return [{"action_type": _POINTED[type(action)], **at(point)}]
        case Scroll(_, direction):
            return [{"action_type": "scroll", "direction": direction}]
        case Drag(start, end):
            return [{"action_type": "swipe", "direction": _swipe(start, end, width, height)}]
        case Type(content):
            return _typed(content)
        case OpenApp(app_name):
            return [{"action_type": "open_app", "app_name": app_name}]
        case PressHome():
            return [{"action_type": "navigate_home"}]
        case PressBack():
            return [{"action_type": "navigate_back"}]
        case Wait(seconds):
            return [{"action_type": "wait"}] * max(1, round(seconds))
        case Finished(content):
            answer = [{"action_type": "answer", "text": content}] if content else []
            return [*answer, {"action_type": "status", "goal_status": "complete"}]
        case CallUser():
            return [{"action_type": "status", "goal_status": "infeasible"}]
        case _:
            raise InputError(f"an action must be one of a phone; got {action.name}")


def _swipe(start: Point, end: Point, width: int, height: int) -> str:
    across, down = (end.x - start.x) * width, (end.y - start.y) * height
    if abs(across) > abs(down):
        return "left" if across > 0 else "right"
    return "down" if down > 0 else "up"


def _typed(content: str) -> list[dict[str, Any]]:
    """A newline at the end submits once, as `input_text` does anyway."""
    if not content:
        return []
    lines = content.replace("\r\n", "\n").split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    return [
        {"action_type": "input_text", "text": line} if line else {"action_type": "keyboard_enter"} for line in lines
    ]
