"""Keys as pynput names them (AgentNetTool and openadapt-capture do) and as X does, which our recordings have."""

from __future__ import annotations

from tars_jax.annotation.in_situ.key_names import CHARACTERS, X_NAMES

_NAMED = {
    "alt": "Alt_L", "alt_l": "Alt_L", "alt_r": "Alt_R", "alt_gr": "ISO_Level3_Shift", "backspace": "BackSpace",
    "caps_lock": "Caps_Lock", "cmd": "Super_L", "cmd_l": "Super_L", "cmd_r": "Super_R", "ctrl": "Control_L",
    "ctrl_l": "Control_L", "ctrl_r": "Control_R", "delete": "Delete", "down": "Down", "end": "End", "enter": "Return",
    "esc": "Escape", "home": "Home", "insert": "Insert", "left": "Left", "menu": "Menu", "num_lock": "Num_Lock",
    "page_down": "Next", "page_up": "Prior", "pause": "Pause", "print_screen": "Print", "right": "Right",
    "scroll_lock": "Scroll_Lock", "shift": "Shift_L", "shift_l": "Shift_L", "shift_r": "Shift_R", "space": "space",
    "tab": "Tab", "up": "Up", **{f"f{number}": f"F{number}" for number in range(1, 25)},
}  # fmt: skip
# The last name of several is how a key is written back: the sides, but for those that have one name for both.
_PYNPUT = {x: name for name, x in _NAMED.items()}
# Held, they make no text of what is pressed with them.
COMMANDING = {"Control_L", "Control_R", "Alt_L", "Alt_R", "Super_L", "Super_R"}


def x_of_name(name: str) -> str | None:
    """Of a key without a character (`ctrl_l`, `page_up`); None for one that we do not know."""
    return _NAMED.get(name)


def x_of_character(character: str) -> str:
    return X_NAMES.get(character, character)


def name_of_x(key: str) -> str:
    """Pynput's name of a key without a character; empty: it has one, or is not known."""
    return "" if key == "space" else _PYNPUT.get(key, "")


def character_of_x(key: str) -> str:
    """The character that is on a key; empty: there is none."""
    return CHARACTERS.get(key, key if len(key) == 1 else "")
