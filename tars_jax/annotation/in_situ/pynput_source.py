"""Hands and screen by pynput and mss where there is no X, as on macOS. Nobody has tried it.

No system but X tells to which window a key went or what covers what. So nothing is known of windows here but that the
whole screen is one application, `screen`, which the person may allow; secrets are told by their combination of keys
alone, which applications hear, too; and there is no sign on the screen.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from tars_jax.annotation.in_situ.events import Button, KeyStroke, Moved, Scrolled
from tars_jax.annotation.in_situ.key_names import x_of_character, x_of_name
from tars_jax.annotation.in_situ.privacy import ScreenWindows, VisibleWindow
from tars_jax.annotation.in_situ.sources import HandInput, Picture, RecordingClock, State, require_library

POLL_S = 0.5  # between two pictures: nothing tells that the screen has changed
BUTTONS = ("left", "middle", "right")


class PynputScreen:
    """All of it is one window. Raises InputError without the extra."""

    def __init__(self) -> None:
        require_library("mss", "pictures of the screen")
        import mss

        self._camera = mss.MSS()
        self._pictured_at = 0.0

    def windows(self) -> ScreenWindows:
        whole = self._camera.monitors[0]
        screen = VisibleWindow(1, "screen", "screen", "", (0, 0, whole["width"], whole["height"]))
        return ScreenWindows((whole["width"], whole["height"]), (screen,), screen)

    def changed(self) -> bool:
        return time.monotonic() - self._pictured_at >= POLL_S

    def picture(self) -> Picture | None:
        self._pictured_at = time.monotonic()
        taken = self._camera.grab(self._camera.monitors[0])
        pixels = np.frombuffer(bytearray(taken.bgra), np.uint8).reshape(taken.height, taken.width, 4)
        return Picture(pixels, self.windows())

    def wishes(self) -> Sequence[str]:
        return ()

    def show(self, state: State) -> None:
        print(f"[{state}]", flush=True)

    def close(self) -> None:
        self._camera.close()


class PynputHands:
    """Listens in threads of pynput's from the beginning."""

    def __init__(self, clock: RecordingClock, screen: PynputScreen) -> None:
        require_library("pynput", "keys and the mouse")
        from pynput import keyboard, mouse

        self._clock, self._screen = clock, screen
        self._came: queue.SimpleQueue[Moved | Button | Scrolled | KeyStroke] = queue.SimpleQueue()
        self._listeners: list[Any] = [
            mouse.Listener(on_move=self._moved, on_click=self._clicked, on_scroll=self._scrolled),
            keyboard.Listener(on_press=lambda key: self._key(key, True), on_release=lambda key: self._key(key, False)),
        ]
        for each in self._listeners:
            each.start()

    def take(self) -> Sequence[HandInput]:
        window = self._screen.windows().focused
        return [HandInput(self._came.get(), window) for _ in range(self._came.qsize())]

    def close(self) -> None:
        for each in self._listeners:
            each.stop()

    def _moved(self, x: float, y: float) -> None:
        self._came.put(Moved(time=self._clock.now(), x=round(x), y=round(y)))

    def _clicked(self, x: float, y: float, button: Any, down: bool) -> None:
        if button.name in BUTTONS:
            self._came.put(Button(time=self._clock.now(), x=round(x), y=round(y), button=button.name, down=down))

    def _scrolled(self, x: float, y: float, dx: float, dy: float) -> None:
        self._came.put(Scrolled(time=self._clock.now(), x=round(x), y=round(y), dx=round(dx), dy=-round(dy)))

    def _key(self, key: Any, down: bool) -> None:
        character = getattr(key, "char", None)
        name = x_of_character(character) if character else x_of_name(getattr(key, "name", "")) or "0x0"
        text = character if down and character and character.isprintable() else ""
        self._came.put(KeyStroke(time=self._clock.now(), key=name, down=down, text=text or ""))
