"""The keys of a desktop: which keycode types which character, and spare ones for what the keymap lacks."""

from __future__ import annotations

import copy
import time
from collections import OrderedDict
from collections.abc import Iterator

from Xlib import XK, X, display

from tars_jax import InputError
from tars_jax.sandbox.browser.events import NAMED_KEYS, is_key

# KeyboardEvent.key -> keysym
KEYSYMS = {
    "Alt": XK.XK_Alt_L, "Control": XK.XK_Control_L, "Meta": XK.XK_Super_L, "Shift": XK.XK_Shift_L,
    "Enter": XK.XK_Return, "Tab": XK.XK_Tab, "Escape": XK.XK_Escape, "Backspace": XK.XK_BackSpace,
    "Delete": XK.XK_Delete, "Insert": XK.XK_Insert, "Home": XK.XK_Home, "End": XK.XK_End,
    "PageUp": XK.XK_Page_Up, "PageDown": XK.XK_Page_Down, "ArrowLeft": XK.XK_Left, "ArrowUp": XK.XK_Up,
    "ArrowRight": XK.XK_Right, "ArrowDown": XK.XK_Down, "CapsLock": XK.XK_Caps_Lock, "ContextMenu": XK.XK_Menu,
    "PrintScreen": XK.XK_Print, **{f"F{n}": getattr(XK, f"XK_F{n}") for n in range(1, 13)},
}  # fmt: skip
CONTROLS = {"\n": XK.XK_Return, "\r": XK.XK_Return, "\t": XK.XK_Tab, "\b": XK.XK_BackSpace, "\x1b": XK.XK_Escape}
SETTLED_S = 0.5  # after which programs have read what was typed


def keysym(character: str) -> int:
    """The keysym that types a character (X protocol, appendix A: Latin-1 as it is, else Unicode + 0x1000000)."""
    point = ord(character)
    if character in CONTROLS:
        return int(CONTROLS[character])
    if point < 0x20 or 0x7F <= point < 0xA0 or 0xD800 <= point < 0xE000:
        raise InputError(f"text must be of characters that a keyboard types; got {character!r}")
    return point if point < 0x100 else 0x1000000 | point


class Keyboard:
    """The keymap of a display as this process last saw or changed it."""

    def __init__(self, shown: display.Display) -> None:
        self._display = shown
        self._first, last = shown.display.info.min_keycode, shown.display.info.max_keycode
        mapping = [list(symbols) for symbols in shown.get_keyboard_mapping(self._first, last - self._first + 1)]
        width = max(len(symbols) for symbols in mapping)
        self._mapping = [symbols + [0] * (width - len(symbols)) for symbols in mapping]
        self._keys: dict[int, tuple[int, bool]] = {}  # keysym -> (keycode, with shift)
        for code, symbols in enumerate(self._mapping, self._first):
            for level, symbol in enumerate(symbols[:2]):
                if symbol:
                    self._keys.setdefault(symbol, (code, level == 1))
        spare = [code for code, symbols in enumerate(self._mapping, self._first) if not any(symbols)]
        self._borrowed = OrderedDict((-code, code) for code in spare)  # keysym -> keycode, longest unused first
        self._changed = 0.0  # when a key that is in use was last changed
        self.shift = self.code("Shift")

    def moved(self, shown: display.Display) -> Keyboard:
        """The same keys by another connection. What it changes from now on the other does not see."""
        other = copy.copy(self)
        other._display, other._borrowed = shown, self._borrowed.copy()
        other._mapping = [list(symbols) for symbols in self._mapping]
        return other

    def code(self, key: str) -> int:
        """The keycode of a key by its name or a character that it prints. Raises InputError for none."""
        if key in KEYSYMS:
            return self._keys[KEYSYMS[key]][0]
        if not is_key(key):
            raise InputError(
                f"key must be one character of the US layout or one of {', '.join(NAMED_KEYS)}; got {key[:40]!r}"
            )
        return self._keys[keysym(key)][0]

    def is_shifted(self, key: str) -> bool:
        """Whether a key that `code` takes is a character typed with shift."""
        return key not in KEYSYMS and self._keys[keysym(key)][1]

    @property
    def has_capitals_locked(self) -> bool:
        return bool(self._display.screen().root.query_pointer().mask & X.LockMask)

    def strokes(self, text: str) -> Iterator[tuple[int, bool]]:
        """(keycode, with shift) of each character, where capitals are not locked.

        The keymap may change between two that are asked for.
        """
        symbols = [keysym(character) for character in text]
        for place, symbol in enumerate(symbols):
            if symbol in self._keys:
                yield self._keys[symbol]
            else:
                if symbol not in self._borrowed:
                    self._borrow(symbols[place:])
                yield self._borrowed[symbol], False

    def _borrow(self, symbols: list[int]) -> None:
        """Has the spare keycodes type the next symbols that no key types, as many as there are keycodes for.

        All are changed at once, since each change has every program read the keymap again. What was typed before is
        given time first: a program that comes to it only after the change would take one character for another.
        """
        wanted = [symbol for symbol in dict.fromkeys(symbols) if symbol not in self._keys][: len(self._borrowed)]
        for symbol in wanted:
            if symbol in self._borrowed:
                self._borrowed.move_to_end(symbol)
        if (left := self._changed + SETTLED_S - time.monotonic()) > 0:
            self._display.flush()
            time.sleep(left)
        for symbol in wanted:
            if symbol not in self._borrowed:
                _, code = self._borrowed.popitem(last=False)
                self._borrowed[symbol] = code
                self._mapping[code - self._first] = [symbol] * len(self._mapping[0])
        codes = sorted(self._borrowed.values())
        rows = self._mapping[codes[0] - self._first : codes[-1] - self._first + 1]
        self._display.change_keyboard_mapping(codes[0], rows)
        self._changed = time.monotonic()
