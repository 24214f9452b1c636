"""The keys of a desktop: which keycode types which character, and spare ones for what the keymap lacks."""

from __future__ import annotations

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
SETTLED_S = 0.15  # after which programs have read a changed key


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
        first, last = shown.display.info.min_keycode, shown.display.info.max_keycode
        mapping = shown.get_keyboard_mapping(first, last - first + 1)
        self._width = max(len(symbols) for symbols in mapping)
        self._keys: dict[int, tuple[int, bool]] = {}  # keysym -> (keycode, with shift)
        spare = []
        for code, symbols in enumerate(mapping, first):
            if not any(symbols):
                spare.append(code)
            for level, symbol in enumerate(symbols[:2]):
                if symbol:
                    self._keys.setdefault(symbol, (code, level == 1))
        self._spare: OrderedDict[int, tuple[int, float]] = OrderedDict((code, (0, 0.0)) for code in spare)
        self.shift = self.code("Shift")

    def code(self, key: str) -> int:
        """The keycode of a key by its name or a character that it prints. Raises InputError for none."""
        if key in KEYSYMS:
            return self._keys[KEYSYMS[key]][0]
        if not is_key(key):
            raise InputError(
                f"key must be one character of the US layout or one of {', '.join(NAMED_KEYS)}; got {key[:40]!r}"
            )
        return self._keys[keysym(key)][0]

    def strokes(self, text: str) -> Iterator[tuple[int, bool]]:
        """(keycode, with shift) of each character. The keymap may change between two that are asked for."""
        locked = bool(self._display.screen().root.query_pointer().mask & X.LockMask)
        for character in text:
            symbol = keysym(character)
            code, shifted = self._keys.get(symbol) or (self._borrowed(symbol), False)
            yield code, shifted != (locked and character.isascii() and character.isalpha())

    def _borrowed(self, symbol: int) -> int:
        """A keycode that nobody uses and types `symbol` from now on: the one that was used longest ago.

        Programs read a changed keymap when they hear of it. A key is changed again only when they have had the time,
        or they would take the later character for the earlier one.
        """
        for code, (known, _) in self._spare.items():
            if known == symbol:
                self._spare[code] = (symbol, time.monotonic())
                self._spare.move_to_end(code)
                return code
        code, (_, used) = next(iter(self._spare.items()))
        if (left := used + SETTLED_S - time.monotonic()) > 0:
            self._display.flush()
            time.sleep(left)
        self._display.change_keyboard_mapping(code, [[symbol] * self._width])
        self._spare[code] = (symbol, time.monotonic())
        self._spare.move_to_end(code)
        return code
