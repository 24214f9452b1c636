"""Input of a person who has the session, by mouse and keyboard, as actions of the episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.agent import actions as acts
from tars_jax.agent.actions import Action, Point
from tars_jax.agent.functions import tool_call
from tars_jax.agent.keys import canonical_key
from tars_jax.environment import ActionSpace
from tars_jax.json_fields import Fields, short_repr

MOST_TEXT = 20_000


def action_of(given: Mapping[str, Any], space: ActionSpace) -> Action:
    """The action of an input such as {"type": "click", "x": .5, "y": .2}: places in fractions of the screen.

    Raises InputError for what is none, and for what the episode does not have.
    """
    kind = given.get("type")
    if not isinstance(kind, str) or kind not in _MADE_BY:
        raise InputError(f"type must be one of {', '.join(_MADE_BY)}; got {short_repr(kind)}")
    fields = Fields({name: value for name, value in given.items() if name != "type"})
    if kind == "call":
        action = _call(fields, space)
    else:
        action = _MADE_BY[kind](fields)
        if action.name not in space.actions:
            raise InputError(f"type must be something that this episode has ({', '.join(space.actions)}); got {kind!r}")
    if unknown := fields.unread():
        raise InputError(f"an input of type {kind} must have no other fields; got {unknown[0]!r}")
    return action


def _call(fields: Fields, space: ActionSpace) -> Action:
    name, parameters = fields.text("name"), fields.of_type("parameters", dict)
    function = space.function(name)
    if function is None:
        known = ", ".join(each.name for each in space.functions) or "none"
        raise InputError(f"name must be that of a function of this episode ({known}); got {short_repr(name)}")
    return tool_call(function, parameters)


def _place(fields: Fields, x: str = "x", y: str = "y") -> Point:
    return Point(*(1000 * _fraction(fields, name) for name in (x, y)))


def _fraction(fields: Fields, name: str) -> float:
    value = fields.number(name, -1.0, 0.0, 1.0)
    if value < 0:
        raise fields.error(name, "a number from 0 to 1, a fraction of the screen")
    return value


def _text(fields: Fields) -> str:
    text = fields.text("text")
    if not 0 < len(text) <= MOST_TEXT:
        raise InputError(f"text must be 1 to {MOST_TEXT} characters; got {len(text)}")
    return text


def _key(given: Any) -> str:
    key = canonical_key(given) if isinstance(given, str) and len(given) <= 32 else None
    if key is None:
        raise InputError(f"a key must be one of a keyboard; got {short_repr(given)}")
    return key


def _keys(fields: Fields) -> tuple[str, ...]:
    return tuple(map(_key, fields.array("keys", required=True)))


def _wait(fields: Fields) -> Action:
    return acts.Wait(fields.number("seconds", 1.0, 0.01, acts.MAX_WAIT_SECONDS))


_MADE_BY: dict[str, Callable[[Fields], Any]] = {
    "click": lambda fields: acts.Click(_place(fields)),
    "double_click": lambda fields: acts.LeftDouble(_place(fields)),
    "right_click": lambda fields: acts.RightSingle(_place(fields)),
    "long_press": lambda fields: acts.LongPress(_place(fields)),
    "drag": lambda fields: acts.Drag(_place(fields), _place(fields, "x2", "y2")),
    "move": lambda fields: acts.MoveTo(_place(fields)),
    "scroll": lambda fields: acts.Scroll(_place(fields), fields.text("direction")),
    "type": lambda fields: acts.Type(_text(fields)),
    "hotkey": lambda fields: acts.Hotkey(_keys(fields)),
    "press": lambda fields: acts.Press(_key(fields.text("key"))),
    "release": lambda fields: acts.Release(_key(fields.text("key"))),
    "navigate": lambda fields: acts.Navigate(_text(fields)),
    "back": lambda fields: acts.NavigateBack(),
    "press_home": lambda fields: acts.PressHome(),
    "press_back": lambda fields: acts.PressBack(),
    "open_app": lambda fields: acts.OpenApp(_text(fields)),
    "wait": _wait,
    "call": lambda fields: None,  # a function of the episode
}
