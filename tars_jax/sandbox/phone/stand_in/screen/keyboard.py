"""The on-screen keyboard: letters, capitals, digits and signs."""

from __future__ import annotations

from collections.abc import Callable

from tars_jax.sandbox.phone.stand_in.screen.widgets import Box, Widget

HEIGHT = 188.0  # dp
LETTERS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
SIGNS = ("1234567890", "@#€_&-+()/", "*\"':;!?%")
SPECIAL = {"shift": "⇧", "delete": "⌫", "signs": "?123", "letters": "abc", "space": "space", "enter": "↵"}


class OnScreenKeyboard:
    """The keyboard and the one of its pages that is shown. Typed characters go to `write`; "delete" and "enter" go to
    `press`."""

    def __init__(self, write: Callable[[str], object], press: Callable[[str], object]) -> None:
        self._write, self._press = write, press
        self._shift = self._signs = False

    def hide(self) -> None:
        self._shift = self._signs = False

    def widgets(self, area: Box) -> list[Widget]:
        """The keys in `area` (dp), which they fill."""
        keys = [Widget("panel", "keyboard", area, area)]
        rows = SIGNS if self._signs else LETTERS
        height = (area.bottom - area.top) / 4
        wide = (area.right - area.left) / 10
        for line, row in enumerate(rows):
            top = area.top + line * height
            left = area.left + (10 - len(row)) * wide / 2
            for index, letter in enumerate(row):
                sign = letter.upper() if self._shift else letter
                keys.append(self._key(f"key_{sign}", sign, left + index * wide, top, wide, height, sign))
        top = area.top + 2 * height
        if not self._signs:
            keys.append(self._key("key_shift", "⇧", area.left, top, 1.5 * wide, height))
        right = area.right
        keys.append(self._key("key_delete", "⌫", right - (1 if self._signs else 1.5) * wide, top,
                              (1 if self._signs else 1.5) * wide, height))  # fmt: skip
        top += height
        page = "letters" if self._signs else "signs"
        left = area.left
        for name, width in ((page, 1.5), (",", 1), ("space", 5), (".", 1), ("enter", 1.5)):
            sign = name if len(name) == 1 else ""
            keys.append(self._key(f"key_{name}", SPECIAL.get(name, name), left, top, width * wide, height, sign))
            left += width * wide
        return keys

    def _key(
        self, id: str, text: str, left: float, top: float, width: float, height: float, sign: str = ""
    ) -> Widget:  # fmt: skip
        box = Box(left + 1.5, top + 2, left + width - 1.5, top + height - 2)
        return Widget("key", id, box, box, text=text, tap=lambda: self._touched(id.removeprefix("key_"), sign))

    def _touched(self, name: str, sign: str) -> None:
        if sign or name == "space":
            self._write(sign or " ")
            self._shift = False
        elif name == "shift":
            self._shift = not self._shift
        elif name in ("signs", "letters"):
            self._signs, self._shift = name == "signs", False
        else:
            self._press(name)
