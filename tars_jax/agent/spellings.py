"""Other spellings of functions and parameters that models write, and what each of them means.

A spelling stands here only if it means one thing. `swipe` is no drag (its direction may be the finger's or the page's),
`middle_click` and `pyautogui.click` (pixels of the screen, not the policy's grid) are no click: those stay unknown.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

from tars_jax.agent.actions import FUNCTIONS

_OTHER_FUNCTIONS = {
    "click": ("left_click", "left_single", "single_click", "tap"),
    "left_double": ("double_click", "left_double_click", "double_tap"),
    "right_single": ("right_click", "context_click"),
    "drag": ("left_click_drag", "drag_and_drop"),
    "hotkey": ("key_combination",),
    "type": ("type_text", "input_text"),
    "finished": ("finish",),
    "long_press": ("long_click",),
    "open_app": ("launch_app",),
    "press": ("key_down",),
    "release": ("key_up",),
    "mouse_down": ("left_mouse_down",),
    "mouse_up": ("left_mouse_up",),
    "move_to": ("hover", "move", "mouse_move", "move_mouse"),
    "navigate": ("goto", "open_url"),
    "navigate_back": ("go_back",),
}
_OTHER_PARAMETERS = {  # by folded spelling: the parameters that it may stand for, the first that a function has
    "start_box": ("start_point", "point"),
    **dict.fromkeys(("box", "bbox", "coordinate", "coordinates", "position"), ("point",)),
    "start_point": ("point",),
    **dict.fromkeys(("start", "start_coordinate"), ("start_point",)),
    **dict.fromkeys(("end", "end_box", "end_coordinate"), ("end_point",)),
    **dict.fromkeys(("text", "url", "answer"), ("content",)),
    "app": ("app_name",),
    **dict.fromkeys(("keys", "hotkey"), ("key",)),
    **dict.fromkeys(("seconds", "duration"), ("time",)),
}
_QUOTES = "'\"`\u2018\u2019\u201c\u201d"


def fold(name: str) -> str:
    """A name without case, `_`, `-`: `LeftDouble`, `left-double` and `left_double` are one."""
    return name.lower().replace("_", "").replace("-", "")


_FUNCTION_OF = {fold(name): name for name in FUNCTIONS} | {
    fold(other): name for name, others in _OTHER_FUNCTIONS.items() for other in others
}
_PARAMETER_OF = {fold(name): candidates for name, candidates in _OTHER_PARAMETERS.items()}
FUNCTION_SPELLINGS = frozenset(FUNCTIONS).union(*_OTHER_FUNCTIONS.values())


def function_of(written: str) -> str | None:
    """The GUI action that a function's name stands for, or None."""
    return _FUNCTION_OF.get(fold(written))


def parameter_of(written: str, known: Mapping[str, object]) -> str | None:
    """The one of a function's `known` parameters that a written name stands for, or None."""
    folded = fold(written)
    candidates = (*(name for name in known if fold(name) == folded), *_PARAMETER_OF.get(folded, ()))
    return next((name for name in candidates if name in known), None)


def plain(value: str) -> str:
    """A point, number or direction without white space and quotes around it, in half-width characters."""
    return unicodedata.normalize("NFKC", value.strip().strip(_QUOTES).strip())
