"""The sign on the screen: a frame around it and a mark on top, which let every click through and are in no picture.

Red with a disk: what the focused window shows and hears is recorded. Gray with a disk: another window has the focus.
Amber with a bar: a secret is not recorded. White with two bars: paused.
"""

from __future__ import annotations

from typing import Any

from Xlib import X
from Xlib.ext import shape

from tars_jax.annotation.in_situ.sources import State

EDGE, MARK = 3, 18  # pixels
COLORS = {"recording": 0xD03030, "elsewhere": 0x808080, "secret": 0xE0A020, "paused": 0xF0F0F0}


class Sign:
    """Windows of the given display, whose ids are added to `own`."""

    def __init__(self, shown: Any, own: set[int]) -> None:
        self._display, self._own = shown, own
        self._windows: list[Any] = []
        self._mark: Any = None
        self._state: State = "elsewhere"

    def show(self, state: State, size: tuple[int, int]) -> None:
        """Shows the sign on a screen of (width, height)."""
        if not self._windows:
            self._open(*size)
        self._state = state
        color = COLORS[state]
        for window in self._windows:
            window.change_attributes(background_pixel=color)
            window.clear_area()
            window.map()
            window.configure(stack_mode=X.Above)
        self._draw()
        self._display.flush()

    def raised(self) -> None:
        """Raises the sign to the top again, and draws it."""
        for window in self._windows:
            window.configure(stack_mode=X.Above)
        self._draw()
        self._display.flush()

    def drawn(self, event: Any) -> None:
        if self._mark is not None and event.window.id == self._mark.id:
            self._draw()

    def close(self) -> None:
        for window in self._windows:
            self._own.discard(window.id)
            window.destroy()
        self._windows.clear()
        self._display.flush()

    def _open(self, width: int, height: int) -> None:
        boxes = ((0, 0, width, EDGE), (0, height - EDGE, width, EDGE), (0, 0, EDGE, height),
                 (width - EDGE, 0, EDGE, height), ((width - MARK) // 2, 0, MARK, MARK))  # fmt: skip
        screen = self._display.screen()
        for box in boxes:
            window = screen.root.create_window(
                *box, 0, X.CopyFromParent, override_redirect=True, event_mask=X.ExposureMask,
                background_pixel=COLORS["paused"],
            )  # fmt: skip
            window.set_wm_class("tars-jax", "tars-jax record")
            if self._display.has_extension("SHAPE"):
                window.shape_rectangles(shape.SO.Set, shape.SK.Input, X.Unsorted, 0, 0, [])
            self._own.add(window.id)
            self._windows.append(window)
        self._mark = self._windows[-1]

    def _draw(self) -> None:
        if self._mark is None:
            return
        gc = self._mark.create_gc(foreground=0x202020 if self._state in ("paused", "secret") else 0xFFFFFF)
        third = MARK // 3
        if self._state == "paused":
            self._mark.fill_rectangle(gc, third - 2, 4, 4, MARK - 8)
            self._mark.fill_rectangle(gc, 2 * third - 2, 4, 4, MARK - 8)
        elif self._state == "secret":
            self._mark.fill_rectangle(gc, 3, MARK // 2 - 2, MARK - 6, 4)
        else:
            self._mark.fill_arc(gc, 4, 4, MARK - 8, MARK - 8, 0, 360 * 64)
        gc.free()
