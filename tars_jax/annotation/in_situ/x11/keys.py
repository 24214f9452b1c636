"""Keycodes: the key of each, and what it types: names and characters of keysyms (X protocol, appendix A)."""

from __future__ import annotations

import functools
import unicodedata
from typing import Any

from Xlib import XK, X

UNICODE = 0x1000000  # keysyms above are that and a code point
# Keysyms of older keyboards: the upper byte says which code page the lower one is of.
PAGES = {1: "iso8859-2", 2: "iso8859-3", 3: "iso8859-4", 5: "iso8859-6", 6: "koi8-u", 7: "iso8859-7", 12: "iso8859-8",
         13: "tis-620"}  # fmt: skip
TYPED = {XK.XK_Return: "\n", XK.XK_KP_Enter: "\n", XK.XK_Tab: "\t", XK.XK_KP_Space: " ", 0x20AC: "€"}
KEYPAD = range(0xFF80, 0xFFBE)
KEYPAD_TEXT = range(0xFFAA, 0xFFBA)  # * + , - . / 0 ... 9, as in ASCII
LEVEL_3 = (0xFE03, 0xFF7E)  # ISO_Level3_Shift, Mode_switch
DEAD = {
    0xFE50: "\u0300", 0xFE51: "\u0301", 0xFE52: "\u0302", 0xFE53: "\u0303", 0xFE54: "\u0304", 0xFE55: "\u0306",
    0xFE56: "\u0307", 0xFE57: "\u0308", 0xFE58: "\u030a", 0xFE59: "\u030b", 0xFE5A: "\u030c", 0xFE5B: "\u0327",
    0xFE5C: "\u0328",
}  # fmt: skip
COMMANDS = X.ControlMask | X.Mod1Mask | X.Mod4Mask  # with one of them held a key types nothing


@functools.cache
def _names() -> dict[int, str]:
    for group in ("latin1", "latin2", "latin3", "latin4", "greek", "cyrillic", "hebrew", "thai", "xkb", "xf86"):
        XK.load_keysym_group(group)
    found: dict[int, str] = {}
    for name in sorted(vars(XK)):
        if name.startswith("XK_"):
            found.setdefault(getattr(XK, name), name[3:])
    return found


def name_of(keysym: int) -> str:
    """The name of a keysym in X: `a`, `Return`, `Control_L`; of characters without one `U00E4`, of unknown ones their
    number."""
    if name := _names().get(keysym):
        return name
    return f"U{keysym - UNICODE:04X}" if keysym > UNICODE else f"0x{keysym:x}"


def text_of(keysym: int) -> str:
    """The character that it types; "" for none."""
    if keysym in TYPED:
        return TYPED[keysym]
    if keysym in KEYPAD_TEXT:
        return chr(keysym - 0xFF80)
    if 0x20 <= keysym < 0x7F or 0xA0 <= keysym < 0x100:
        return chr(keysym)
    if UNICODE < keysym <= UNICODE + 0x10FFFF:
        return chr(keysym - UNICODE)
    if (page := PAGES.get(keysym >> 8)) and keysym & 0x80:
        return bytes([keysym & 0xFF]).decode(page, "ignore")
    return ""


class Keymap:
    """The keymap of a display; accents that wait for their letter are kept, so one serves one keyboard."""

    def __init__(self, shown: Any) -> None:
        self._display = shown
        self._accent = ""
        self.refresh()

    def refresh(self) -> None:
        first, last = self._display.display.info.min_keycode, self._display.display.info.max_keycode
        self._first = first
        self._rows = [list(row) for row in self._display.get_keyboard_mapping(first, last - first + 1)]
        self._level_3 = 0
        for bit, codes in enumerate(self._display.get_modifier_mapping()):
            held = {symbol for code in codes if code for symbol in self._row(code)}
            if held & set(LEVEL_3):
                self._level_3 = 1 << bit
        self._number_lock = next(
            (1 << bit for bit, codes in enumerate(self._display.get_modifier_mapping())
             if any(XK.XK_Num_Lock in self._row(code) for code in codes if code)), 0,
        )  # fmt: skip

    def key(self, code: int, state: int, down: bool) -> tuple[str, str]:
        """(name, text) of a key; `state`: the modifiers before it, as of an event."""
        keysym = self._keysym(code, state)
        text = "" if state & COMMANDS or not down else text_of(keysym)
        if down and keysym in DEAD:
            self._accent = DEAD[keysym]
        elif down and text:
            text, self._accent = unicodedata.normalize("NFC", text + self._accent), ""
        return name_of(keysym), text

    def _row(self, code: int) -> list[int]:
        place = code - self._first
        return self._rows[place] if 0 <= place < len(self._rows) else []

    def _keysym(self, code: int, state: int) -> int:
        """By group, shift and third level; the map lists two levels of two groups, then two more of each."""
        row = [*self._row(code), *[0] * 8][:8]
        group, shift = state >> 13 & 1, bool(state & X.ShiftMask)
        start = 2 * group if row[2 * group] or row[2 * group + 1] else 0
        if self._level_3 and state & self._level_3 and any(row[4 + start : 6 + start]):
            start += 4
        plain, shifted = row[start], row[start + 1] or row[start]
        if shifted in KEYPAD and state & self._number_lock:
            return plain if shift else shifted
        if state & X.LockMask and text_of(plain).isalpha():
            shift = not shift
        if not row[start + 1] and shift and text_of(plain).upper() != text_of(plain):
            upper = ord(text_of(plain).upper()[0])
            return upper if upper < 0x100 else UNICODE | upper
        return shifted if shift else plain
