"""Hands at a real X screen, by XTEST: they overshoot, mistype and mend it, and press as long as people do."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping

from Xlib import XK, X, display
from Xlib.ext import xtest

Place = tuple[int, int]
BUTTONS = {"left": 1, "middle": 2, "right": 3}
WHEEL = {"up": 4, "down": 5}
STEP_S = 0.012  # between two moves of the mouse
NEIGHBORS = {"a": "s", "e": "r", "i": "o", "n": "m", "o": "p", "r": "t", "s": "d", "t": "y", "l": "k", "h": "j"}
_NAMES = {" ": "space", "\n": "Return", "\t": "Tab", ".": "period", ",": "comma", "-": "minus", "/": "slash",
          ":": "colon", "@": "at", "+": "plus", "*": "asterisk", "=": "equal", "'": "apostrophe", "_": "underscore",
          "?": "question", "|": "bar", "(": "parenleft", ")": "parenright", "~": "asciitilde", "!": "exclam",
          ">": "greater", '"': "quotedbl", "&": "ampersand"}  # fmt: skip


class Hands:
    """Each call returns when it is done; times are those of the monotonic clock."""

    def __init__(self, env: Mapping[str, str], draw: random.Random, knock: Callable[[float], None]) -> None:
        """`env`: DISPLAY, whose cookie stands in XAUTHORITY of this process; `knock`: hears of each press."""
        self._display, self._draw, self._knock = display.Display(env["DISPLAY"]), draw, knock
        pointer = self._display.screen().root.query_pointer()
        self.place: Place = (pointer.root_x, pointer.root_y)

    # ---- the mouse

    def move(self, target: Place) -> None:
        """Fast first, slow at the end; beyond it and back where it is far."""
        draw = self._draw
        far = math.dist(self.place, target)
        if far > 150 and draw.random() < 0.6:
            beyond = draw.uniform(0.03, 0.08)
            x, y = (round(b + (b - a) * beyond) for a, b in zip(self.place, target, strict=True))
            self._glide((x, y + draw.randint(-6, 6)), draw.uniform(0.3, 0.5) + far / 3000)
            time.sleep(draw.uniform(0.04, 0.12))
            self._glide(target, draw.uniform(0.12, 0.25))
        elif far > 0:
            self._glide(target, draw.uniform(0.25, 0.5) + far / 3000)
        time.sleep(draw.uniform(0.05, 0.25))

    def press(self, button: str = "left") -> float:
        self._fake(X.ButtonPress, BUTTONS[button])
        pressed = time.monotonic()
        self._knock(pressed)
        return pressed

    def release(self, button: str = "left") -> None:
        self._fake(X.ButtonRelease, BUTTONS[button])

    def click(self, button: str = "left", times: int = 1) -> float:
        """The time of the first press."""
        first = 0.0
        for number in range(times):
            if number:
                time.sleep(self._draw.uniform(0.06, 0.15))
            pressed = self.press(button)
            first = first or pressed
            time.sleep(self._draw.uniform(0.05, 0.12))
            if self._draw.random() < 0.2:  # a finger that presses moves the mouse
                self._to((self.place[0] + 1, self.place[1]))
            self.release(button)
        return first

    def drag(self, target: Place) -> float:
        pressed = self.press()
        time.sleep(self._draw.uniform(0.1, 0.25))
        self._glide(target, self._draw.uniform(0.5, 0.9))
        time.sleep(self._draw.uniform(0.15, 0.4))
        self.release()
        return pressed

    def scroll(self, direction: str, notches: int) -> float:
        """In bursts, as a finger turns a wheel."""
        first = 0.0
        for number in range(notches):
            if number:
                time.sleep(self._draw.uniform(0.04, 0.09) if number % 4 else self._draw.uniform(0.2, 0.5))
            self._fake(X.ButtonPress, WHEEL[direction])
            first = first or time.monotonic()
            self._fake(X.ButtonRelease, WHEEL[direction])
        return first

    # ---- the keyboard

    def type(self, text: str, mistakes: float = 0.05) -> float:
        """With wrong keys of the neighborhood that are taken back, some of them a few letters late."""
        first = 0.0
        number, wrong_since = 0, -1
        while number < len(text):
            letter = text[number]
            if wrong_since < 0 and letter in NEIGHBORS and self._draw.random() < mistakes and number + 3 < len(text):
                first = first or time.monotonic()
                self._strike(NEIGHBORS[letter])
                wrong_since, late = number, self._draw.choice((0, 0, 1, 2))
                for each in text[number + 1 : number + 1 + late]:
                    self._strike(each)
                time.sleep(self._draw.uniform(0.25, 0.6))
                for _ in range(1 + late):
                    self._strike("BackSpace")
                continue
            wrong_since = -1
            pressed = self._strike(letter)
            first = first or pressed
            number += 1
        return first

    def keys(self, *names: str) -> float:
        """Held one after the other, let go in the other order; the time of the last press."""
        for name in names[:-1]:
            self._key(name, True)
            time.sleep(self._draw.uniform(0.05, 0.15))
        pressed = time.monotonic()
        self._key(names[-1], True)
        self._knock(pressed)
        time.sleep(self._draw.uniform(0.04, 0.1))
        for name in reversed(names):
            self._key(name, False)
            time.sleep(self._draw.uniform(0.02, 0.06))
        return pressed

    def _strike(self, letter: str) -> float:
        name = _NAMES.get(letter, letter)
        shifted = self._code(name)[1]
        if shifted:
            self._key("Shift_L", True)
            time.sleep(0.04)
        pressed = time.monotonic()
        self._key(name, True)
        self._knock(pressed)
        time.sleep(self._draw.uniform(0.03, 0.08))
        self._key(name, False)
        if shifted:
            self._key("Shift_L", False)
        time.sleep(self._draw.uniform(0.05, 0.16) + (self._draw.random() < 0.04) * 0.4)
        return pressed

    def _code(self, name: str) -> tuple[int, bool]:
        symbol = XK.string_to_keysym(name)
        codes = sorted((index, code) for code, index in self._display.keysym_to_keycodes(symbol))
        assert codes and codes[0][0] < 2, f"this keyboard has no {name}"
        return codes[0][1], codes[0][0] == 1

    def _key(self, name: str, down: bool) -> None:
        self._fake(X.KeyPress if down else X.KeyRelease, self._code(name)[0])

    # ---- XTEST

    def _glide(self, target: Place, seconds: float) -> None:
        """Along a slight bow, its speed that of a minimum of jerk."""
        start, count = self.place, max(3, round(seconds / STEP_S))
        bow = self._draw.uniform(-0.06, 0.06)
        across = (-(target[1] - start[1]) * bow, (target[0] - start[0]) * bow)
        for number in range(1, count + 1):
            part = number / count
            way = part**3 * (10 - 15 * part + 6 * part**2)
            side = 4 * way * (1 - way)
            self._to((round(start[0] + (target[0] - start[0]) * way + across[0] * side),
                      round(start[1] + (target[1] - start[1]) * way + across[1] * side)))  # fmt: skip
            time.sleep(seconds / count)
        self._to(target)

    def _to(self, place: Place) -> None:
        if place != self.place:
            xtest.fake_input(self._display, X.MotionNotify, x=place[0], y=place[1])
            self._display.sync()
            self.place = place

    def _fake(self, kind: int, detail: int) -> None:
        xtest.fake_input(self._display, kind, detail)
        self._display.sync()
