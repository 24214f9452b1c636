"""Names of keys in X, as characters and as those of typed actions."""

from __future__ import annotations

from tars_jax.agent.keys import canonical_key

MODIFIERS = {
    f"{name}_{side}": ours
    for side in "LR"
    for name, ours in {
        "Control": "ctrl", "Shift": "shift", "Alt": "alt", "Meta": "alt", "Super": "meta", "Hyper": "meta",
    }.items()
}  # fmt: skip
SILENT = {"Caps_Lock", "Num_Lock", "Shift_Lock", "ISO_Level3_Shift", "ISO_Level5_Shift", "Mode_switch", "Multi_key"}
CHARACTERS = {  # of keys whose name in X is another than what they type
    "space": " ", "exclam": "!", "quotedbl": '"', "numbersign": "#", "dollar": "$", "percent": "%", "ampersand": "&",
    "apostrophe": "'", "parenleft": "(", "parenright": ")", "asterisk": "*", "plus": "+", "comma": ",", "minus": "-",
    "period": ".", "slash": "/", "colon": ":", "semicolon": ";", "less": "<", "equal": "=", "greater": ">",
    "question": "?", "at": "@", "bracketleft": "[", "backslash": "\\", "bracketright": "]", "asciicircum": "^",
    "underscore": "_", "grave": "`", "braceleft": "{", "bar": "|", "braceright": "}", "asciitilde": "~",
}  # fmt: skip
X_NAMES = {character: name for name, character in CHARACTERS.items()}
_NAMES = {
    **CHARACTERS,
    "Return": "enter", "ISO_Enter": "enter", "ISO_Left_Tab": "tab", "Prior": "pageup", "Next": "pagedown",
    "space": "space",
    "KP_Add": "+", "KP_Subtract": "-", "KP_Multiply": "*", "KP_Divide": "/", "KP_Decimal": ".", "KP_Separator": ",",
}  # fmt: skip


def is_silent(name: str) -> bool:
    """A key that does nothing by itself but changes what others type."""
    return name in SILENT or name.startswith("dead_")


def key_of(name: str) -> str | None:
    """The key of an X name (`Return`, `KP_5`, `bracketleft`, `C`); None for one that typed actions do not have."""
    if name in _NAMES:
        return _NAMES[name]
    bare = name.removeprefix("KP_")
    return _NAMES.get(bare) or canonical_key(bare)


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
    """X's name of a key without a character (`ctrl_l`, `page_up`); None for one that we do not know."""
    return _NAMED.get(name)


def x_of_character(character: str) -> str:
    return X_NAMES.get(character, character)


def name_of_x(key: str) -> str:
    """Pynput's name of a key without a character; empty: it has one, or is not known."""
    return "" if key == "space" else _PYNPUT.get(key, "")


def character_of_x(key: str) -> str:
    """The character that is on a key; empty: there is none."""
    return CHARACTERS.get(key, key if len(key) == 1 else "")
