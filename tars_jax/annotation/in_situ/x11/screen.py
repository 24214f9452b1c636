"""An X screen: its windows, pictures of it that no window has changed in, and the recorder's sign on it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from Xlib import X, error

from tars_jax.annotation.in_situ.privacy import ScreenWindows, VisibleWindow
from tars_jax.annotation.in_situ.sources import Picture, SourceLost, State, require_library
from tars_jax.annotation.in_situ.x11.connecting import connect, gone
from tars_jax.annotation.in_situ.x11.hotkeys import Hotkeys
from tars_jax.annotation.in_situ.x11.sign import Sign
from tars_jax.annotation.in_situ.x11.tree import Tree

TRIES = 3  # at a picture while windows move
RAISE_S = 0.5  # between two times that the sign comes on top again
POLL_S = 0.5  # between two pictures where the server does not say that it has drawn
NON_EMPTY = 3  # of DAMAGE: told once until it is taken


class XScreen:
    """Belongs to one thread."""

    def __init__(self, name: str, keys: Mapping[str, str]) -> None:
        """`name`: as DISPLAY has it; `keys`: see `Hotkeys`. Raises InputError for a screen that cannot be reached."""
        self._display = connect(name)
        require_library("mss", "pictures of the screen")
        self._name = self._display.get_display_name()
        self._own: set[int] = set()
        self._tree = Tree(self._display, self._own)
        self._sign = Sign(self._display, self._own)
        self._hotkeys = Hotkeys(self._display, keys)
        self._wishes: list[str] = []
        self._damage: int | None = None
        if self._display.has_extension("DAMAGE"):
            self._display.damage_query_version()  # the server refuses what comes before it
            self._damage = self._tree.root.damage_create(NON_EMPTY)
        self._drawn, self._pictured_at, self._raised_at = True, 0.0, 0.0
        self._camera: Any = None
        self._size = (0, 0)

    def windows(self) -> ScreenWindows:
        try:
            return self._windows()
        except (*gone(), error.XError) as failed:
            raise SourceLost(f"the X server is gone: {failed}") from failed

    def owner(self, window: int) -> VisibleWindow | None:
        """The top-level window that a window is in."""
        return self._tree.owner(window)

    def manager(self) -> int:
        return self._tree.manager()

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""
        return self.windows().size

    def changed(self) -> bool:
        if self._damage is None:
            return time.monotonic() - self._pictured_at >= POLL_S
        return self._drawn

    def picture(self) -> Picture | None:
        try:
            for _ in range(TRIES):
                windows = self._windows()
                self._drawn, self._pictured_at = False, time.monotonic()
                if self._damage is not None:
                    self._display.damage_subtract(self._damage)
                    self._display.sync()
                pixels = self._grab(windows.size)
                self._display.sync()
                self._drain()
                # Its events come in the order of what it did: none came before the picture was taken.
                if not self._tree.is_stale and pixels is not None:
                    return Picture(pixels, windows)
            self._drawn = True
            return None
        except (*gone(), error.XError) as failed:
            raise SourceLost(f"the X server is gone: {failed}") from failed

    def show(self, state: State) -> None:
        try:
            self._sign.show(state, self._windows().size)
        except (*gone(), error.XError) as failed:
            raise SourceLost(f"the X server is gone: {failed}") from failed

    def wishes(self) -> list[str]:
        wishes, self._wishes = self._wishes, []
        return wishes

    def close(self) -> None:
        if self._camera is not None:
            self._camera.close()
        try:
            self._sign.close()
            self._display.close()
        except (*gone(), error.XError):
            pass

    def _windows(self) -> ScreenWindows:
        self._display.sync()
        self._drain()
        windows = self._tree.windows()
        self._drain()
        if windows.size != self._size and self._size != (0, 0):
            self._sign.close()
            self._camera = None
        self._size = windows.size
        is_below = any(each.own for each in windows.shown) and not windows.shown[-1].own
        if is_below and time.monotonic() - self._raised_at > RAISE_S:
            self._raised_at = time.monotonic()
            self._sign.raised()
        return windows

    def _drain(self) -> None:
        while self._display.pending_events():
            event = self._display.next_event()
            if self._damage is not None and event.type == self._display.extension_event.DamageNotify:
                self._drawn = True
            elif event.type == X.KeyPress:
                self._wishes += filter(None, [self._hotkeys.wish(event)])
            elif event.type == X.Expose:
                self._sign.drawn(event)
            else:
                self._tree.heard(event)

    def _grab(self, size: tuple[int, int]) -> np.ndarray | None:
        import mss

        if self._camera is None:
            self._camera = mss.MSS(display=self._name)
        width, height = size
        try:
            taken = self._camera.grab({"left": 0, "top": 0, "width": width, "height": height})
        except mss.ScreenShotError:  # the screen has another size now
            self._camera = None
            return None
        return np.frombuffer(bytearray(taken.bgra), np.uint8).reshape(taken.height, taken.width, 4)
