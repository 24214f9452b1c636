"""Android's key codes, those that the stand-in knows. (android.view.KeyEvent)"""

from __future__ import annotations

import string

CODES = {
    3: "HOME", 4: "BACK", 19: "DPAD_UP", 20: "DPAD_DOWN", 21: "DPAD_LEFT", 22: "DPAD_RIGHT", 23: "DPAD_CENTER",
    24: "VOLUME_UP", 25: "VOLUME_DOWN", 26: "POWER", 61: "TAB", 62: "SPACE", 66: "ENTER", 67: "DEL", 82: "MENU",
    92: "PAGE_UP", 93: "PAGE_DOWN", 111: "ESCAPE", 112: "FORWARD_DEL", 113: "CTRL_LEFT", 114: "CTRL_RIGHT",
    122: "MOVE_HOME", 123: "MOVE_END", 160: "NUMPAD_ENTER", 187: "APP_SWITCH", 223: "SLEEP", 224: "WAKEUP",
    277: "CUT", 278: "COPY", 279: "PASTE",
    **{7 + digit: str(digit) for digit in range(10)},
    **{29 + index: letter for index, letter in enumerate(string.ascii_uppercase)},
    55: "COMMA", 56: "PERIOD", 69: "MINUS", 70: "EQUALS", 76: "SLASH", 77: "AT", 81: "PLUS",
}  # fmt: skip
TEXTS = {
    "SPACE": " ", "COMMA": ",", "PERIOD": ".", "MINUS": "-", "EQUALS": "=", "SLASH": "/", "AT": "@", "PLUS": "+",
    **{str(digit): str(digit) for digit in range(10)},
    **{letter: letter.lower() for letter in string.ascii_uppercase},
}  # fmt: skip
CONTROL = {"A": "SELECT_ALL", "C": "COPY", "V": "PASTE", "X": "CUT"}  # with Ctrl


def key_name(word: str) -> str | None:
    """The name of a key without KEYCODE_, from a number or a name; None for one that there is not."""
    if word.isascii() and word.isdigit():
        return CODES.get(int(word[:6]))
    name = word.upper().removeprefix("KEYCODE_")
    return name if name in CODES.values() else None
