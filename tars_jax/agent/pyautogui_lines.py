"""An action as a line of PyAutoGUI, which OSWorld's guests run and its results are written in."""

from __future__ import annotations

import json

from tars_jax.agent.actions import (
    Action,
    CallUser,
    Click,
    Drag,
    Finished,
    Hotkey,
    LeftDouble,
    Point,
    RightSingle,
    Scroll,
    ToolCall,
    Type,
    Wait,
)

SCROLLS = 5  # of the wheel, as UI-TARS' own prompts are carried out there


def pyautogui_line(action: Action, width: int, height: int, last: str = "") -> str:
    """The line of an action on a screen of so many pixels. What PyAutoGUI lacks is said in words: WAIT, FAIL, `last` or
    DONE at the end, a function as JSON."""

    def at(point: Point) -> str:
        x, y = point.pixels(width, height)
        return f"{round(x)}, {round(y)}"

    match action:
        case Click(point):
            return f"pyautogui.click({at(point)})"
        case LeftDouble(point):
            return f"pyautogui.doubleClick({at(point)})"
        case RightSingle(point):
            return f"pyautogui.rightClick({at(point)})"
        case Drag(start, end):
            return f"pyautogui.moveTo({at(start)}); pyautogui.dragTo({at(end)}, duration=1.0)"
        case Hotkey(keys):
            return f"pyautogui.hotkey({', '.join(map(repr, keys))})"
        case Type(content):
            return f"pyautogui.write({content!r})"
        case Scroll(point, direction):
            turn = SCROLLS if direction in ("up", "right") else -SCROLLS
            where = f", {at(point)}" if point is not None else ""
            return f"pyautogui.{'scroll' if direction in ('up', 'down') else 'hscroll'}({turn}{where})"
        case Wait():
            return "WAIT"
        case CallUser():
            return "FAIL"
        case Finished():
            return last or "DONE"
        case ToolCall(name, parameters):
            return json.dumps({"function": name, "parameters": dict(parameters)}, ensure_ascii=False)
        case _:
            return action.name
