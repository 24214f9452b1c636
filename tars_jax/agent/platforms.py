"""The GUI actions of each platform, after the action spaces of UI-TARS and UI-TARS-2.

Phones are touched; a browser is a computer's screen that also opens addresses; games hold keys and buttons down and
leave their page never; tools are functions alone, and an end.
"""

from __future__ import annotations

from tars_jax.environment import ActionSpace, Function

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


def platform_space(platform: str, functions: tuple[Function, ...] = ()) -> ActionSpace:
    """All GUI actions of a platform, and functions besides. Raises InputError for another platform."""
    return ActionSpace(platform, PLATFORM_ACTIONS.get(platform, ()), functions)
