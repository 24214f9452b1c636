"""The names of keys: what a policy may write, and the one spelling that the rest of the code sees.

A key is a single printable character in lower case ("c", "7", "+") or one of `NAMED_KEYS`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_ALIASES = {
    "ctrl": ("control", "ctl"),
    "shift": (),
    "alt": ("option",),
    "meta": ("cmd", "command", "win", "windows", "super"),
    "enter": ("return",),
    "escape": ("esc",),
    "backspace": (),
    "delete": ("del",),
    "insert": ("ins",),
    "tab": (),
    "space": ("spacebar",),
    "up": ("arrowup", "uparrow"),
    "down": ("arrowdown", "downarrow"),
    "left": ("arrowleft", "leftarrow"),
    "right": ("arrowright", "rightarrow"),
    "home": (),
    "end": (),
    "pageup": ("pgup",),
    "pagedown": ("pgdn", "pgdown"),
    "capslock": (),
    "+": ("plus",),
    **{f"f{number}": () for number in range(1, 13)},
}
MODIFIERS = frozenset({"ctrl", "shift", "alt", "meta"})
NAMED_KEYS = frozenset(_ALIASES) - {"+"}
_CANONICAL = {alias: name for name, aliases in _ALIASES.items() for alias in (name, *aliases)}
_MODIFIED = re.compile(r"(\w+)[-,](.+)", re.DOTALL)
_QUOTED = r"'\w+'|\"\w+\""
_LIST = re.compile(rf"\s*\[\s*(?:{_QUOTED}|\w+(?=\s*,))(?:\s*,\s*(?:{_QUOTED}|\w+))*\s*\]\s*")
_TWO_WORDS = re.compile(r"\b(page|arrow|caps)\s+(?=(?:up|down|left|right|lock)\b)", re.IGNORECASE)


def is_key(key: str) -> bool:
    """Whether `key` is spelled as the typed actions spell keys."""
    return key in NAMED_KEYS or (len(key) == 1 and key.isprintable() and not key.isspace() and key == key.lower())


def canonical_key(text: str) -> str | None:
    """The one spelling of a key that a policy wrote ("ArrowUp", "page_up", "C"), or None if there is no such key."""
    lowered = text.strip().lower()
    if is_key(lowered):
        return lowered
    return _CANONICAL.get(lowered.replace("_", "").replace("-", ""))


def split_combination(text: str) -> list[str]:
    """The parts of a combination: separated by spaces, or as models also write them: "ctrl+t", "ctrl + t", "ctrl-t",
    "ctrl, t", "['ctrl', 't']".

    A plus sign between two keys separates them; as a key in that place it is written `plus`. A hyphen and a comma
    separate behind a modifier alone.
    """
    if _LIST.fullmatch(text):
        return re.findall(r"\w+", text)
    words = _TWO_WORDS.sub(r"\1", text).split()
    keys = [word for place, word in enumerate(words) if word != "+" or place in (0, len(words) - 1)]
    return [part for word in keys for piece in re.split(r"(?<=[^+])\+(?=.)", word) for part in _behind_modifiers(piece)]


def _behind_modifiers(word: str) -> list[str]:
    parts: list[str] = []
    while len(parts) < len(MODIFIERS) and (found := _MODIFIED.fullmatch(word)) and canonical_key(found[1]) in MODIFIERS:
        parts.append(found[1])
        word = found[2]
    return [*parts, word.removesuffix(",") if canonical_key(word[:-1]) in MODIFIERS else word]


def join_combination(keys: Sequence[str]) -> str:
    """The canonical text, which `split_combination` takes apart again."""
    inside = range(1, len(keys) - 1)
    return " ".join("plus" if key == "+" and place in inside else key for place, key in enumerate(keys))
