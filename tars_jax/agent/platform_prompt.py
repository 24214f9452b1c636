"""The GUI actions of each platform, and the system prompt of a policy that was not trained on our grammars: what it can
do, and how to write it.

The action spaces are those of UI-TARS and UI-TARS-2. Phones are touched; a browser is a computer's screen that also
opens addresses; games hold keys and buttons down and leave their page never; tools are functions alone, and an end.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.agent.actions import (
    Action,
    ActionError,
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
    Navigate,
    NavigateBack,
    OpenApp,
    Point,
    Press,
    PressBack,
    PressHome,
    Release,
    RightSingle,
    Scroll,
    ToolCall,
    Type,
    Wait,
    action_point,
)
from tars_jax.agent.functions import parameter_schema, tool_call
from tars_jax.agent.grammar import format_response
from tars_jax.agent.grammar_text import format_call
from tars_jax.agent.grammar_tool import format_function
from tars_jax.agent.response import Response
from tars_jax.agent.schemas import DEPTH, describe_schema, resolved, to_json
from tars_jax.environment import ActionSpace, Function

_HERE = Point(500, 120)
EXAMPLES: tuple[tuple[Action, str], ...] = (
    (Click(_HERE), "a left click"),
    (LeftDouble(_HERE), "a double click"),
    (RightSingle(_HERE), "a right click"),
    (LongPress(_HERE), "touches and holds"),
    (Drag(Point(200, 300), Point(700, 300)), "press, move, release"),
    (Hotkey(("up",)), "one key, or up to three held together"),
    (Type("some text\n"), "types; a line break at the end submits"),
    (Scroll(Point(500, 500), "down"), "up, down, left or right"),
    (Press("shift"), "holds a key down until it is released"),
    (Release("shift"), "lets the key go"),
    (MouseDown(_HERE), "holds the mouse button down"),
    (MouseUp(_HERE), "lets the button go"),
    (MoveTo(_HERE), "moves the mouse and presses nothing"),
    (OpenApp("Settings"), "opens an app by its name"),
    (PressHome(), "to the home screen"),
    (PressBack(), "one screen back"),
    (Navigate("https://example.com"), "opens an address"),
    (NavigateBack(), "one page back"),
    (Wait(), "lets time pass"),
    (CallUser(), "when only the user can go on"),
    (Finished(), "when the task is done"),
)
_ANSWER = Finished("the answer"), "when the task is done, with the answer if one is asked for"
_PAGE = ActionSpace(
    "browser", ("click", "left_double", "right_single", "drag", "hotkey", "type", "scroll", "wait", "finished")
)
_PLACES = {
    "computer": "You act on the screen of a computer",
    "phone": "You act on the screen of a phone",
    "browser": "You act on a screen",
    "game": "You play a game on a screen",
}
_MOUSE = ("click", "left_double", "right_single", "drag", "hotkey", "type", "scroll", "wait")
_HELD = ("press", "release", "mouse_down", "mouse_up", "move_to")

PLATFORM_ACTIONS: dict[str, tuple[str, ...]] = {
    "computer": (*_MOUSE, "finished", "call_user"),
    "phone": (
        *("click", "long_press", "type", "scroll", "drag", "open_app", "press_home", "press_back", "wait"),
        *("finished", "call_user"),
    ),
    "browser": (*_MOUSE, *_HELD, "navigate", "navigate_back", "finished", "call_user"),
    "game": (*_MOUSE, *_HELD, "finished"),
    "tools": ("finished",),
}


def platform_prompt(grammar: str, space: ActionSpace | None = None, *, pixels: bool = False) -> str:
    """The actions of a space with an example of each, its functions with their parameters, and a whole answer in
    `grammar`; points are given on the grid of 0..1000, or in `pixels` of the screenshot. Without a space: those of a
    web page.

    Raises:
      InputError: there is no such grammar.
    """
    page = space or _PAGE
    examples = [(action, meaning) for action, meaning in EXAMPLES if action.name in page.actions]
    if page.functions or page.platform != "game":
        examples = [_ANSWER if isinstance(action, Finished) else (action, meaning) for action, meaning in examples]
    first = examples[0][0] if examples else example_call(page.functions[0]) or ToolCall(page.functions[0].name)
    if page.platform == "tools" and page.functions:
        first = example_call(page.functions[0]) or first
    answer = format_response(Response("what you see and what you do next", (first,)), grammar=grammar, space=page)
    said = introduction(page, [action.name for action, _ in examples], pixels)
    parts = [f"{said} Answer with one action, in exactly this form:\n\n{answer}"]
    if examples:
        calls = (f"{_written(action, grammar, page)}  # {meaning}" for action, meaning in examples)
        parts.append("\n".join(["Actions:", *calls]))
    if page.functions:
        parts.append("\n".join(["Functions:", *(_function(each, grammar, page) for each in page.functions)]))
    return "\n\n".join(parts)


def introduction(space: ActionSpace, actions: Sequence[str], pixels: bool) -> str:
    """Tells a policy where it acts, and how it points if it can call an action with a point."""
    if space.platform == "tools":
        words = "You act by calling functions, and read what they return."
    else:
        words = f"{_PLACES[space.platform]} that you see as a screenshot after every action."
        words += " You may also call functions, and read what they return." if space.functions else ""
    if any(action_point(action) for action, _ in EXAMPLES if action.name in actions):
        scale = "in pixels" if pixels else "on a grid from 0 to 1000 over the width and the height"
        words += f" Points are x y {scale} of the screenshot."
    if space.platform in ("browser", "game"):
        words += " While you think, time stands still."
    return words


def _written(action: Action, grammar: str, space: ActionSpace) -> str:
    return format_call(action) if grammar == "text" else format_function(action, space)


def _function(function: Function, grammar: str, space: ActionSpace) -> str:
    example = example_call(function)
    call = _written(example, grammar, space) if example else function.name
    about = " ".join(function.description.split())
    lines = [f"{call}  # {about}" if about else call]
    required = function.parameters.get("required", ())
    for name in dict.fromkeys([*function.parameters.get("properties", ()), *required]):
        schema = resolved(parameter_schema(function, name), function.parameters)
        optional = "" if name in required else "optional, "
        default = f", {to_json(schema['default'])} if left out" if "default" in schema else ""
        meaning = " ".join(str(schema.get("description", "")).split())
        kind = describe_schema(schema, function.parameters)
        lines.append(f"  {name}: {optional}{kind}{default}{'; ' if meaning else ''}{meaning}")
    return "\n".join(lines)


def example_call(function: Function) -> ToolCall | None:
    """A call with all parameters, or with those that it needs, if values for them are easily found."""
    properties, required = function.parameters.get("properties", {}), function.parameters.get("required", ())
    for names in ({*properties, *required}, {*required}):
        with contextlib.suppress(ActionError, InputError):
            ordered = (name for name in dict.fromkeys([*properties, *required]) if name in names)
            values = {name: _value(parameter_schema(function, name), function.parameters) for name in ordered}
            return tool_call(function, values)
    return None


def _value(schema: Any, root: Mapping[str, Any], depth: int = 0) -> Any:
    schema = resolved(schema, root)
    for given in (schema.get("examples", ())[:1], schema.get("enum", ())[:1]):
        if given:
            return given[0]
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    for union in ("anyOf", "oneOf", "allOf"):
        if schema.get(union) and depth < DEPTH:
            return _value(schema[union][0], root, depth + 1)
    types = schema.get("type", "string")
    match types if isinstance(types, str) else types[0]:
        case "integer" | "number":
            return schema.get("minimum", min(1, schema.get("maximum", 1)))
        case "boolean":
            return True
        case "null":
            return None
        case "array":
            return [_value(schema.get("items", {}), root, depth + 1)] if depth < DEPTH else []
        case "object":
            required = schema.get("required", ()) if depth < DEPTH else ()
            return {name: _value(schema.get("properties", {}).get(name, {}), root, depth + 1) for name in required}
    return "..."


def platform_space(platform: str, functions: tuple[Function, ...] = ()) -> ActionSpace:
    """All GUI actions of a platform, and functions besides. Raises InputError for another platform."""
    return ActionSpace(platform, PLATFORM_ACTIONS.get(platform, ()), functions)
