"""Typed actions as PyAutoGUI code, as AgentNet and OpenCUA have it: the way back of `pyautogui_calls.py`.

    pyautogui.click(x=0.25, y=0.5)    computer.wait(seconds=2.0)    computer.terminate(status='success')

Places are shares of the screen, 0 to 1, of six digits. A drag, and a turn of the wheel over a place, begin with a move
there. A long press is a button held down for a second. What a keyboard and a mouse cannot do (the keys of a phone, an
address to open, a function) raises NoSuchAction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tars_jax.agent.actions import (
    GRID,
    Action,
    CallUser,
    Click,
    Drag,
    Finished,
    Hotkey,
    LeftDouble,
    LongPress,
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
from tars_jax.data.pyautogui_calls import NoSuchAction

NOTCHES = 5  # of the wheel in one of our scrolls
LONG_PRESS_S = 1.0
_CLICKS: dict[type[Any], str] = {
    Click: "click", LeftDouble: "doubleClick", RightSingle: "rightClick", MoveTo: "moveTo",
}  # fmt: skip
_KEYS = {"meta": "win", "escape": "esc"}  # of our names those that PyAutoGUI has not, or writes otherwise
_WHEEL = {"up": ("scroll", 1), "down": ("scroll", -1), "right": ("hscroll", 1), "left": ("hscroll", -1)}


def code_of_actions(actions: Sequence[Action]) -> str:
    """A statement a line. Raises NoSuchAction for what no code of PyAutoGUI does."""
    return "\n".join(line for action in actions for line in _lines(action))


def _lines(action: Action) -> list[str]:
    match action:
        case Click() | LeftDouble() | RightSingle() | MoveTo():
            return [f"pyautogui.{_CLICKS[type(action)]}({_place(action.point)})"]
        case Drag():
            start, end = _place(action.start_point), _place(action.end_point)
            return [f"pyautogui.moveTo({start})", f"pyautogui.dragTo({end}, button='left')"]
        case Scroll():
            name, sign = _WHEEL[action.direction]
            there = [] if action.point is None else [f"pyautogui.moveTo({_place(action.point)})"]
            return [*there, f"pyautogui.{name}({sign * NOTCHES})"]
        case Type() if action.content:
            return [f"pyautogui.write(message={action.content!r})"]
        case Hotkey():
            keys = list(map(_key, action.keys))
            return [f"pyautogui.press(keys={keys[0]!r})" if len(keys) == 1 else f"pyautogui.hotkey({keys!r})"]
        case Press():
            return [f"pyautogui.keyDown({_key(action.key)!r})"]
        case Release():
            return [f"pyautogui.keyUp({_key(action.key)!r})"]
        case MouseDown() | MouseUp():
            name = "mouseDown" if isinstance(action, MouseDown) else "mouseUp"
            where = "" if action.point is None else f"{_place(action.point)}, "
            return [f"pyautogui.{name}({where}button={action.button!r})"]
        case LongPress():
            place = _place(action.point)
            held = f"computer.wait(seconds={LONG_PRESS_S!r})"
            return [f"pyautogui.mouseDown({place}, button='left')", held, "pyautogui.mouseUp(button='left')"]
        case Wait():
            return [f"computer.wait(seconds={float(action.seconds)!r})"]
        case Finished():
            answer = f", answer={action.content!r}" if action.content else ""
            return [f"computer.terminate(status='success'{answer})"]
        case CallUser():
            return ["computer.terminate(status='failure')"]
    raise NoSuchAction(f"{action.name} of nothing" if isinstance(action, Type) else action.name)


def _place(point: Point) -> str:
    return f"x={round(point.x / GRID, 6)!r}, y={round(point.y / GRID, 6)!r}"


def _key(key: str) -> str:
    return _KEYS.get(key, key)
