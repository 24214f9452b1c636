"""Keys and pointers of RFB as input events of a desktop."""

from __future__ import annotations

from collections.abc import Mapping

from tars_jax.sandbox.browser.events import (
    InputEvent,
    InsertText,
    KeyDown,
    KeyUp,
    MouseDown,
    MouseMove,
    MouseUp,
    Wheel,
    is_key,
)
from tars_jax.sandbox.desktop.keyboard import CONTROLS, KEYSYMS
from tars_jax.sandbox.service.gateway.rfb import Key, Pointer

BUTTONS = {1: "left", 2: "middle", 4: "right"}
WHEEL = {8: (0.0, -100.0), 16: (0.0, 100.0), 32: (-100.0, 0.0), 64: (100.0, 0.0)}
UNICODE = 0x1000000
# Keys that a keyboard has twice (keysymdef.h): the right ones, and those of the pad.
SAME: Mapping[int, str] = {
    0xFFE2: "Shift", 0xFFE4: "Control", 0xFFEA: "Alt", 0xFFE7: "Meta", 0xFFE8: "Meta", 0xFFEC: "Meta",
    0xFF8D: "Enter", 0xFF89: "Tab", 0xFF80: " ", 0xFF95: "Home", 0xFF9C: "End", 0xFF9A: "PageUp", 0xFF9B: "PageDown",
    0xFF96: "ArrowLeft", 0xFF97: "ArrowUp", 0xFF98: "ArrowRight", 0xFF99: "ArrowDown", 0xFF9E: "Insert",
    0xFF9F: "Delete", 0xFFAA: "*", 0xFFAB: "+", 0xFFAC: ",", 0xFFAD: "-", 0xFFAE: ".", 0xFFAF: "/", 0xFFBD: "=",
    **{0xFFB0 + digit: str(digit) for digit in range(10)},
}  # fmt: skip
NAMES: Mapping[int, str] = {**{symbol: name for name, symbol in KEYSYMS.items()}, **SAME}


def key_event(key: Key) -> InputEvent | None:
    """None for a key that types nothing here, and for the release of a character that no key of the desktop types."""
    name = NAMES.get(key.keysym) or _character(key.keysym)
    if name is None:
        return None
    if is_key(name):
        return KeyDown(name) if key.down else KeyUp(name)
    return InsertText(name) if key.down else None


def _character(keysym: int) -> str | None:
    point = keysym - UNICODE if keysym >= UNICODE else keysym
    if not (0x20 <= point < 0x7F or 0xA0 <= point < 0x100 or (keysym >= UNICODE and point < 0x110000)):
        return None
    return None if 0xD800 <= point < 0xE000 or chr(point) in CONTROLS else chr(point)


class Mouse:
    """A pointer's state as RFB tells it, and the events between two states."""

    def __init__(self) -> None:
        self._buttons = 0

    def events(self, pointer: Pointer) -> list[InputEvent]:
        x, y = pointer.x, pointer.y
        changed, self._buttons = self._buttons ^ pointer.buttons, pointer.buttons
        events: list[InputEvent] = [MouseMove(x, y)]
        for mask, button in BUTTONS.items():
            if changed & mask:
                events.append(MouseDown(x, y, button) if pointer.buttons & mask else MouseUp(x, y, button))
        events += [Wheel(x, y, *turn) for mask, turn in WHEEL.items() if changed & pointer.buttons & mask]
        return events
