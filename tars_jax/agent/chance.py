"""What no skill at all does: an action of a space, drawn at random."""

from __future__ import annotations

import random
import string
from typing import Any

from tars_jax.agent.actions import Action, Click, Drag, Hotkey, Point, ToolCall
from tars_jax.agent.guide import EXAMPLES
from tars_jax.environment import ActionSpace, Function


def random_action(space: ActionSpace, rng: random.Random) -> Action:
    """Any function with any arguments; where there is none, clicks, drags and arrow keys anywhere, three to one to one;
    without a pointer any action as the guide has it."""
    if space.functions:
        function = rng.choice(space.functions)
        return ToolCall(function.name, _any_arguments(function, rng))
    if not {Click.name, Drag.name, Hotkey.name} <= {*space.actions}:
        return rng.choice([action for action, _ in EXAMPLES if action.name in space.actions])
    first, second = (Point(rng.randint(0, 1000), rng.randint(0, 1000)) for _ in range(2))
    match rng.choices(("click", "drag", "key"), (3, 1, 1))[0]:
        case "click":
            return Click(first)
        case "drag":
            return Drag(first, second)
        case _:
            return Hotkey((rng.choice(("up", "right", "down", "left")),))


def _any_arguments(function: Function, rng: random.Random) -> dict[str, Any]:
    """A value for each parameter that is text, or whose values are few or have bounds."""
    arguments: dict[str, Any] = {}
    for name, schema in function.parameters.get("properties", {}).items():
        match schema:
            case {"enum": list(values)}:
                arguments[name] = rng.choice(values)
            case {"type": "boolean"}:
                arguments[name] = rng.random() < 0.5
            case {"type": "integer", "minimum": low, "maximum": high}:
                arguments[name] = rng.randint(low, high)
            case {"type": "number", "minimum": low, "maximum": high}:
                arguments[name] = rng.uniform(low, high)
            case {"type": "string"}:
                arguments[name] = rng.choice(string.ascii_lowercase)
    return arguments
