"""The mouse and the keyboard of a desktop: input events become XTEST requests."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

from Xlib import X
from Xlib.ext import xtest

from tars_jax import InputError
from tars_jax.sandbox.browser.events import (
    InputEvent,
    InsertText,
    KeyDown,
    KeyUp,
    MouseDown,
    MouseMove,
    MouseUp,
    Wheel,
)
from tars_jax.sandbox.desktop.connection import XConnection
from tars_jax.sandbox.desktop.keyboard import Keyboard, keysym

BUTTONS = {"left": 1, "middle": 2, "right": 3}
UP, DOWN, LEFT, RIGHT = 4, 5, 6, 7  # the buttons that a turn of the wheel by one notch presses
NOTCH_PIXELS = 100.0  # of an event of the wheel
MOST_NOTCHES = 1000
LONGEST_TEXT = 100_000


def goes(events: Sequence[InputEvent]) -> list[Sequence[InputEvent]]:
    """The events in parts between which programs are waited for. A drag is three: whoever is dragged from takes hold
    only once the mouse has moved, and whoever it is dropped on is asked before the button is let go (XDND).
    """
    parts: list[Sequence[InputEvent]] = []
    pressed = begun = 0
    is_held = False
    for place, event in enumerate(events):
        match event:
            case MouseDown():
                pressed, is_held = place, True
            case MouseUp() if is_held:
                is_held = False
                middle = (pressed + place + 1) // 2
                if middle - pressed > 1:  # something moved, and on
                    parts += [events[begun:middle], events[middle:place]]
                    begun = place
    return [*parts, events[begun:]]


class Devices:
    """Mouse and keyboard: keys and buttons that are held down, and events that are sent. An impossible event is refused
    before any is sent."""

    def __init__(self, connection: XConnection) -> None:
        self._connection = connection
        self._keyboard = Keyboard(connection.display)
        self._size = connection.screen.width_in_pixels, connection.screen.height_in_pixels
        self._held: dict[tuple[int, int], None] = {}  # (kind of the press, key or button), in order

    def moved(self, connection: XConnection) -> Devices:
        """The same mouse and keyboard by another connection: what is held down stays so. It changes by itself."""
        other = copy.copy(self)
        other._connection, other._keyboard = connection, self._keyboard.moved(connection.display)
        other._held = dict(self._held)
        return other

    def check(self, events: Sequence[InputEvent]) -> None:
        """Raises InputError for an event that cannot be."""
        for event in events:
            match event:
                case MouseMove(x, y):
                    self._place(x, y)
                case MouseDown(x, y, button) | MouseUp(x, y, button):
                    self._place(x, y)
                    if button not in BUTTONS:
                        raise InputError(f"mouse button must be one of {', '.join(BUTTONS)}; got {button!r}")
                case Wheel(x, y, dx, dy):
                    self._place(x, y)
                    if not max(abs(dx), abs(dy)) <= MOST_NOTCHES * NOTCH_PIXELS:  # NaN is refused, too
                        raise InputError(
                            f"wheel must be two numbers of pixels, at most {MOST_NOTCHES * NOTCH_PIXELS:.0f} each way; "
                            f"got ({dx}, {dy})"
                        )
                case KeyDown(key) | KeyUp(key):
                    self._keyboard.code(key)
                case InsertText(text):
                    if len(text) > LONGEST_TEXT:
                        raise InputError(f"text must have at most {LONGEST_TEXT} characters; got {len(text)}")
                    for character in text:
                        keysym(character)

    def send(self, events: Sequence[InputEvent]) -> None:
        """Sends events that `check` has let pass."""
        for event in events:
            match event:
                case MouseMove(x, y):
                    self._move(x, y)
                case MouseDown(x, y, button):
                    self._move(x, y)
                    self._press(X.ButtonPress, BUTTONS[button])
                case MouseUp(x, y, button):
                    self._move(x, y)
                    self._release(X.ButtonPress, BUTTONS[button])
                case Wheel(x, y, dx, dy):
                    self._move(x, y)
                    self._turn(dx, LEFT, RIGHT)
                    self._turn(dy, UP, DOWN)
                case KeyDown(key):
                    self._key_down(key)
                case KeyUp(key):
                    self._release(X.KeyPress, self._keyboard.code(key))
                case InsertText(text):
                    self._type(text)
        self._connection.display.flush()

    def at_rest(self) -> None:
        """Lets go of whatever is held down."""
        for kind, number in reversed(list(self._held)):
            self._release(kind, number)
        self._connection.display.flush()

    def _key_down(self, key: str) -> None:
        """A character alone is typed with the shift that it takes; beside held keys it stands for its key."""
        shifted = self._keyboard.is_shifted(key) and not any(kind == X.KeyPress for kind, _ in self._held)
        if shifted:
            self._fake(X.KeyPress, self._keyboard.shift)
        self._press(X.KeyPress, self._keyboard.code(key))
        if shifted:
            self._fake(X.KeyRelease, self._keyboard.shift)

    def _type(self, text: str) -> None:
        shift = self._keyboard.shift
        if locked := self._keyboard.has_capitals_locked:  # programs make capitals of letters that no key has, too
            self._tap(self._keyboard.code("CapsLock"))
        for code, shifted in self._keyboard.strokes(text):
            if shifted:
                self._fake(X.KeyPress, shift)
            self._tap(code)
            if shifted:
                self._fake(X.KeyRelease, shift)
        if locked:
            self._tap(self._keyboard.code("CapsLock"))

    def _tap(self, code: int) -> None:
        self._fake(X.KeyPress, code)
        self._fake(X.KeyRelease, code)

    def _turn(self, pixels: float, back: int, forth: int) -> None:
        notches = round(abs(pixels) / NOTCH_PIXELS) or (1 if pixels else 0)
        for _ in range(notches):
            self._fake(X.ButtonPress, forth if pixels > 0 else back)
            self._fake(X.ButtonRelease, forth if pixels > 0 else back)

    def _place(self, x: float, y: float) -> tuple[int, int]:
        if not (math.isfinite(x) and math.isfinite(y)):
            raise InputError(f"mouse position must be two finite numbers of pixels; got ({x}, {y})")
        width, height = self._size
        return min(max(int(x), 0), width - 1), min(max(int(y), 0), height - 1)

    def _move(self, x: float, y: float) -> None:
        across, down = self._place(x, y)
        xtest.fake_input(self._connection.display, X.MotionNotify, x=across, y=down)

    def _press(self, kind: int, number: int) -> None:
        self._held[kind, number] = None
        self._fake(kind, number)

    def _release(self, kind: int, number: int) -> None:
        self._held.pop((kind, number), None)
        self._fake(kind + 1, number)  # each release follows its press in the protocol's numbers

    def _fake(self, kind: int, number: int) -> None:
        xtest.fake_input(self._connection.display, kind, number)
