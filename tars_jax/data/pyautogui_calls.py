"""PyAutoGUI code as typed actions: what AgentNet and OpenCUA's models write. The code is read, never run.

    pyautogui.click(x=0.16, y=0.27)    computer.tripleClick(x=0.1, y=0.2)    computer.terminate(status='success')

Places are shares of the screen, 0 to 1. A drag begins where the mouse was last.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.agent.actions import GRID, Action, ActionError, Drag, Point
from tars_jax.agent.calls import action_from_call
from tars_jax.agent.keys import canonical_key, join_combination

MOST_PRESSES = 32  # of one key in a call; more are as many
_OWNERS = ("pyautogui", "computer")
_POSITIONAL = {  # parameters that code also gives without a name
    "scroll": ("clicks", "x", "y"), "hscroll": ("clicks", "x", "y"), "write": ("message",), "typewrite": ("message",),
    "press": ("keys", "presses"), "keyDown": ("key",), "keyUp": ("key",), "sleep": ("seconds",), "wait": ("seconds",),
    "terminate": ("status",), "mouseDown": ("x", "y", "button"), "mouseUp": ("x", "y", "button"),
    "click": ("x", "y", "clicks", "interval", "button"),
}  # fmt: skip
_KEYS = {  # of PyAutoGUI's names those that are not ours
    " ": "space", "\t": "tab", "\n": "enter", "\r": "enter", "add": "+", "subtract": "-", "multiply": "*",
    "divide": "/", "decimal": ".", **{f"num{digit}": str(digit) for digit in range(10)},
    **{f"{key}{side}": ours for side in ("left", "right")
       for key, ours in {"ctrl": "ctrl", "alt": "alt", "option": "alt", "shift": "shift", "win": "meta"}.items()},
}  # fmt: skip
_CLICKS = {"doubleClick": ("left_double",), "rightClick": ("right_single",), "tripleClick": ("left_double", "click")}


class NoSuchAction(Exception):
    """The code is whole, and does what none of our actions does: a click of the middle button, a key that is none of
    ours."""


def actions_of_code(code: str, mouse: Point | None) -> tuple[tuple[Action, ...], Point | None]:
    """Actions of the code, and where the mouse is then; `mouse`: where it was before.

    Raises InputError for what is no such code, NoSuchAction for what our actions cannot say.
    """
    try:
        statements = ast.parse(code.strip()).body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise InputError(f"code must be calls of pyautogui; got {code!r:.80}: {error}") from error
    actions: list[Action] = []
    for statement in statements:
        name, arguments = _call(statement, code)
        try:
            done = _actions(name, arguments, mouse)
        except ActionError as error:  # a time, for one, that none of ours may last
            raise NoSuchAction(f"{name}: {error}") from error
        except InputError:
            raise
        except (TypeError, ValueError, KeyError) as error:  # of arguments of other types
            raise InputError(f"code must have arguments that {name} takes; got {code!r:.80}: {error}") from error
        places = [
            place for action in done for place in (getattr(action, "end_point", None) or _place(action),) if place
        ]
        mouse = places[-1] if places else mouse
        actions += [] if name == "moveTo" and len(statements) > 1 else done  # a move says where the next one begins
    if not statements:
        raise InputError(f"code must hold a call; got {code!r:.80}")
    if not actions:
        raise NoSuchAction(f"{name} of nothing")
    return tuple(actions), mouse


def _place(action: Action) -> Point | None:
    return getattr(action, "point", None)


def _call(statement: ast.stmt, code: str) -> tuple[str, dict[str, Any]]:
    """The function's name, and its arguments by theirs."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute | ast.Name)):
        raise InputError(f"code must be calls of pyautogui; got {code!r:.80}")
    if isinstance(call.func, ast.Attribute):
        owner, name = ast.unparse(call.func.value), call.func.attr
        if owner not in (*_OWNERS, "time"):
            raise InputError(f"code must be calls of {' and '.join(_OWNERS)}; got {code!r:.80}")
    else:
        name = call.func.id
    try:
        given = [ast.literal_eval(argument) for argument in call.args]
        named = {keyword.arg or "**": ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (ValueError, TypeError, RecursionError, MemoryError) as error:
        raise InputError(f"code must have values as arguments; got {code!r:.80}") from error
    if name == "hotkey":
        keys = given[0] if len(given) == 1 and isinstance(given[0], list | tuple) else given or named.get("keys", [])
        return name, {"keys": keys}
    names = _POSITIONAL.get(name, ("x", "y"))
    if len(given) > len(names):
        raise InputError(f"code must give {name} {len(names)} arguments at most without a name; got {code!r:.80}")
    return name, {**dict(zip(names, given, strict=False)), **named}


def _actions(name: str, arguments: Mapping[str, Any], mouse: Point | None) -> list[Action]:
    point = _point(name, arguments) or mouse
    match name:
        case "click" | "doubleClick" | "rightClick" | "tripleClick":
            if point is None:
                raise NoSuchAction(f"{name} where the mouse is")
            return [action_from_call(each, {"point": point}) for each in _clicks(name, arguments)]
        case "moveTo":
            return [action_from_call("move_to", {"point": point})]
        case "dragTo":
            if mouse is None or point is None or arguments.get("button", "left") != "left":
                raise NoSuchAction("dragTo from where the mouse is" if mouse is None else "dragTo with another button")
            return [Drag(mouse, point)]
        case "scroll" | "hscroll":
            where = {} if point is None else {"point": point}
            return [action_from_call("scroll", {**where, "direction": _direction(name, arguments)})]
        case "write" | "typewrite":
            text = arguments.get("message", arguments.get("text", ""))
            if isinstance(text, str):
                return [action_from_call("type", {"content": text})] if text else []
            return [_pressed(key) for key in text]
        case "press":
            keys = arguments.get("keys", arguments.get("key", ()))
            each = [keys] if isinstance(keys, str) else list(keys)
            return [_pressed(key) for key in each * min(int(arguments.get("presses", 1)), MOST_PRESSES)]
        case "hotkey":
            return [_keys(arguments["keys"])]
        case "keyDown" | "keyUp":
            return [action_from_call("press" if name == "keyDown" else "release", {"key": _key(arguments["key"])})]
        case "mouseDown" | "mouseUp":
            button = arguments.get("button", "left")
            where = {} if point is None else {"point": point}
            return [action_from_call("mouse_down" if name == "mouseDown" else "mouse_up", {**where, "button": button})]
        case "wait" | "sleep":
            return [action_from_call("wait", {"time": arguments["seconds"]} if "seconds" in arguments else {})]
        case "terminate" if arguments.get("status") == "failure":
            return [action_from_call("call_user", {})]
        case "terminate":
            answer = arguments.get("answer") or arguments.get("info") or ""
            return [action_from_call("finished", {"content": str(answer)})]
    raise NoSuchAction(name)


def _clicks(name: str, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    button, clicks = arguments.get("button", "left"), arguments.get("clicks", 1)
    if name != "click":
        return _CLICKS[name]
    known = {
        ("left", 1): ("click",),
        ("right", 1): ("right_single",),
        ("left", 2): ("left_double",),
        ("left", 3): _CLICKS["tripleClick"],
    }
    if (button, clicks) not in known:
        raise NoSuchAction(f"click with {clicks} x {button}")
    return known[(button, clicks)]


def _direction(name: str, arguments: Mapping[str, Any]) -> str:
    clicks = arguments.get("clicks")
    if not isinstance(clicks, int | float):
        raise InputError(f"{name} must have a number of clicks; got {clicks!r:.80}")
    if not clicks:
        raise NoSuchAction(f"{name} by nothing")
    forward, back = ("up", "down") if name == "scroll" else ("right", "left")
    return forward if clicks > 0 else back


def _keys(keys: Sequence[Any]) -> Action:
    """Action of keys that are held down together."""
    return action_from_call("hotkey", {"key": join_combination([_key(key) for key in keys])})


def _pressed(key: Any) -> Action:
    """One key by itself: a capital is a character, as `press` holds Shift for it."""
    if isinstance(key, str) and len(key) == 1 and key != key.lower():
        return action_from_call("type", {"content": key})
    return _keys([key])


def _key(key: Any) -> str:
    name = str(key)
    if (ours := _KEYS.get(name.lower()) or canonical_key(name)) is None:
        raise NoSuchAction(f"key {name!r:.20}")
    return ours


def _point(name: str, arguments: Mapping[str, Any]) -> Point | None:
    x, y = arguments.get("x"), arguments.get("y")
    if x is None and y is None:
        return None
    if not all(isinstance(each, int | float) and 0 <= each <= 1 for each in (x, y)):
        raise InputError(f"{name} must point with x and y of 0 to 1; got {x!r:.40} and {y!r:.40}")
    return Point(GRID * float(x), GRID * float(y))  # type: ignore[arg-type]
