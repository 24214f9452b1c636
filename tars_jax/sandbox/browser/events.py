"""Input at the event level: what a hand does to a page, and the commands of the debugging protocol that do it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from tars_jax import InputError

MAX_CLICKS = 10_000  # in a row at one place
Pixels = Annotated[float, Meta(ge=-1e9, le=1e9)]


# On wires and in journals they are {"type": the class's name, and the fields}.


class MouseMove(msgspec.Struct, frozen=True, tag=True):
    x: Pixels  # CSS pixels from the left of the viewport
    y: Pixels  # CSS pixels from the top


class MouseDown(msgspec.Struct, frozen=True, tag=True):
    x: Pixels
    y: Pixels
    button: str = "left"  # left | middle | right
    clicks: Annotated[int, Meta(ge=1, le=MAX_CLICKS)] = 1  # 2 for the second press of a double click


class MouseUp(msgspec.Struct, frozen=True, tag=True):
    x: Pixels
    y: Pixels
    button: str = "left"
    clicks: Annotated[int, Meta(ge=1, le=MAX_CLICKS)] = 1


class Wheel(msgspec.Struct, frozen=True, tag=True):
    x: Pixels
    y: Pixels
    dx: Pixels  # positive scrolls to the right
    dy: Pixels  # positive scrolls down


class KeyDown(msgspec.Struct, frozen=True, tag=True):
    key: str  # a character or a name of KeyboardEvent.key: "a", "A", "Enter", "ArrowLeft", "Control", ...


class KeyUp(msgspec.Struct, frozen=True, tag=True):
    key: str


class InsertText(msgspec.Struct, frozen=True, tag=True):
    text: str  # inserted at the focus, without key events


InputEvent: TypeAlias = MouseMove | MouseDown | MouseUp | Wheel | KeyDown | KeyUp | InsertText
Command: TypeAlias = tuple[str, dict[str, Any]]  # method and parameters of the debugging protocol

LONGEST_CALL_S = 600  # of real time, that a caller may ask for
OUTSIDE = -1.0  # a position beyond the viewport
BUTTONS = {"left": 1, "right": 2, "middle": 4}
MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}
# name -> (code, Windows virtual key code, text that it types)
NAMED_KEYS: dict[str, tuple[str, int, str]] = {
    "Alt": ("AltLeft", 18, ""), "Control": ("ControlLeft", 17, ""), "Meta": ("MetaLeft", 91, ""),
    "Shift": ("ShiftLeft", 16, ""), "Enter": ("Enter", 13, "\r"), "Tab": ("Tab", 9, ""),
    "Escape": ("Escape", 27, ""), "Backspace": ("Backspace", 8, ""),
    "Delete": ("Delete", 46, ""), "Insert": ("Insert", 45, ""), "Home": ("Home", 36, ""), "End": ("End", 35, ""),
    "PageUp": ("PageUp", 33, ""), "PageDown": ("PageDown", 34, ""), "ArrowLeft": ("ArrowLeft", 37, ""),
    "ArrowUp": ("ArrowUp", 38, ""), "ArrowRight": ("ArrowRight", 39, ""), "ArrowDown": ("ArrowDown", 40, ""),
    "CapsLock": ("CapsLock", 20, ""), "ContextMenu": ("ContextMenu", 93, ""), "PrintScreen": ("PrintScreen", 44, ""),
    **{f"F{n}": (f"F{n}", 111 + n, "") for n in range(1, 13)},
}  # fmt: skip
# The US layout: code, virtual key code, the character without and with shift.
PRINTED_KEYS = (
    *((f"Key{c.upper()}", ord(c.upper()), c, c.upper()) for c in "abcdefghijklmnopqrstuvwxyz"),
    *((f"Digit{c}", ord(c), c, shifted) for c, shifted in zip("0123456789", ")!@#$%^&*(", strict=True)),
    ("Space", 32, " ", " "), ("Semicolon", 186, ";", ":"), ("Equal", 187, "=", "+"), ("Comma", 188, ",", "<"),
    ("Minus", 189, "-", "_"), ("Period", 190, ".", ">"), ("Slash", 191, "/", "?"), ("Backquote", 192, "`", "~"),
    ("BracketLeft", 219, "[", "{"), ("Backslash", 220, "\\", "|"), ("BracketRight", 221, "]", "}"),
    ("Quote", 222, "'", '"'),
)  # fmt: skip
CHARACTERS = {c: (code, number) for code, number, plain, shifted in PRINTED_KEYS for c in (plain, shifted)}
SHIFTED = {plain: shifted for _, _, plain, shifted in PRINTED_KEYS}
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")  # what CapsLock shifts


def event_batches(commands: Iterable[Command]) -> list[list[Command]]:
    """The commands in order, in groups that are sent at once; each group waits until the one before is acknowledged.

    A click is one group: a page holds a move back until its next frame, unless a press follows. Two moves never share
    one, for the page would merge them, and what ends a drag waits for the drag.
    """
    groups: list[list[Command]] = []
    for command in commands:
        if groups and _follows_at_once(groups[-1][-1][1], command[1]):
            groups[-1].append(command)
        else:
            groups.append([command])
    return groups


def ends_in_motion(batch: Sequence[Command]) -> bool:
    """Whether a page acknowledges a batch with one of its next frames only."""
    return batch[-1][1].get("type") in ("mouseMoved", "mouseWheel")


def _follows_at_once(before: dict[str, Any], command: dict[str, Any]) -> bool:
    match before.get("type"), command.get("type"):
        case "mouseMoved", "mousePressed":
            return before["buttons"] == 0
        case ("mousePressed", "mouseReleased") | ("mouseReleased", "mousePressed"):
            return True
        case _:
            return False


def is_key(key: str) -> bool:
    """Whether KeyDown and KeyUp know `key`."""
    return key in NAMED_KEYS or key in CHARACTERS


def real_seconds(advance_ms: float, rate: float) -> float:
    """Seconds that virtual time takes to pass at a rate, where the page is fast enough.

    Raises InputError for a time or a rate that cannot be, and for more than a call may take.
    """
    if not rate > 0:
        raise InputError(f"rate must be virtual seconds per second, above 0; got {rate!r}")
    if not 0 <= advance_ms < math.inf:
        raise InputError(f"advance_ms must be milliseconds, 0 or more; got {advance_ms!r}")
    seconds = advance_ms / 1000 / rate
    if seconds > LONGEST_CALL_S:
        raise InputError(
            f"advance_ms at a rate must be at most {LONGEST_CALL_S} s of real time; got {advance_ms!r} at {rate!r}, "
            f"{seconds:.3g} s"
        )
    return seconds


class InputDevices:
    """The mouse and the keyboard of one page: which buttons and keys are down, and whether capitals are locked."""

    def __init__(self) -> None:
        self._buttons: set[str] = set()
        self._down: dict[str, str] = {}  # code of a key -> its name when it was pressed; "a" and "A" are one key
        self._capitals = False

    def commands(self, events: Sequence[InputEvent]) -> list[Command]:
        """The protocol commands for the next events. Raises InputError for one that cannot be, as if none had come."""
        buttons, down, capitals = set(self._buttons), dict(self._down), self._capitals
        try:
            return [self.command(event) for event in events]
        except InputError:
            self._buttons, self._down, self._capitals = buttons, down, capitals
            raise

    def command(self, event: InputEvent) -> Command:
        """The protocol command for the next event. Raises InputError for one that cannot be."""
        match event:
            case MouseMove(x, y):
                held = next(iter(sorted(self._buttons)), "none")
                return self._mouse("mouseMoved", x, y, button=held)
            case MouseDown(x, y, button, clicks):
                self._buttons.add(_known_button(button))
                return self._mouse("mousePressed", x, y, button=button, clickCount=clicks)
            case MouseUp(x, y, button, clicks):
                self._buttons.discard(_known_button(button))
                return self._mouse("mouseReleased", x, y, button=button, clickCount=clicks)
            case Wheel(x, y, dx, dy):
                if not (math.isfinite(dx) and math.isfinite(dy)):
                    raise InputError(f"wheel must be two finite numbers of pixels; got ({dx}, {dy})")
                return self._mouse("mouseWheel", x, y, deltaX=dx, deltaY=dy)
            case KeyDown(key):
                return self._key_down(key)
            case KeyUp(key):
                code, number, _ = _layout(key)
                self._down.pop(code, None)
                return "Input.dispatchKeyEvent", {"type": "keyUp", **self._key(self._printed(key), code, number)}
            case InsertText(text):
                return "Input.insertText", {"text": text}

    def at_rest(self) -> list[Command]:
        """Commands that bring the devices back to how a page first finds them: nothing held, the mouse outside."""
        held: list[InputEvent] = [KeyUp(key) for key in reversed(self._down.values())]
        self._capitals = False
        held += [MouseUp(OUTSIDE, OUTSIDE, button) for button in sorted(self._buttons)]
        return self.commands([*held, MouseMove(OUTSIDE, OUTSIDE)])

    def _mouse(self, kind: str, x: float, y: float, **values: Any) -> Command:
        if not (math.isfinite(x) and math.isfinite(y)):
            raise InputError(f"mouse position must be two finite numbers of pixels; got ({x}, {y})")
        buttons = sum(BUTTONS[button] for button in self._buttons)
        place = {"x": x, "y": y, "buttons": buttons, "modifiers": self._modifiers(), "pointerType": "mouse"}
        return "Input.dispatchMouseEvent", {"type": kind, **place, **values}

    def _key_down(self, key: str) -> Command:
        code, number, text = _layout(key)
        repeat = code in self._down
        self._down.setdefault(code, key)
        self._capitals ^= key == "CapsLock" and not repeat
        if text == key:
            key = text = self._printed(key)
        if {"Control", "Alt", "Meta"} & set(self._down.values()):
            text = ""
        values = {"type": "keyDown" if text else "rawKeyDown", "autoRepeat": repeat, **self._key(key, code, number)}
        return "Input.dispatchKeyEvent", values | ({"text": text, "unmodifiedText": text} if text else {})

    def _key(self, key: str, code: str, number: int) -> dict[str, Any]:
        location = 1 if key in MODIFIERS else 0
        return {
            "key": key,
            "code": code,
            "windowsVirtualKeyCode": number,
            "location": location,
            "modifiers": self._modifiers(),
        }

    def _printed(self, key: str) -> str:
        """`key` with the modifiers of the moment, pressed or let go (UI Events, KeyboardEvent.key)."""
        shifted = ("Shift" in self._down.values()) != (self._capitals and key in LETTERS)
        return SHIFTED.get(key, key) if shifted else key

    def _modifiers(self) -> int:
        return sum(MODIFIERS.get(key, 0) for key in self._down.values())


def _known_button(button: str) -> str:
    if button not in BUTTONS:
        raise InputError(f"mouse button must be one of {', '.join(BUTTONS)}; got {button!r}")
    return button


def _layout(key: str) -> tuple[str, int, str]:
    if key in NAMED_KEYS:
        return NAMED_KEYS[key]
    if key in CHARACTERS:
        return *CHARACTERS[key], key
    raise InputError(f"key must be one character of the US layout or one of {', '.join(NAMED_KEYS)}; got {key!r}")
