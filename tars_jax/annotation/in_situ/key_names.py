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
