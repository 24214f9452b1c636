"""Puts an app's widgets under each other: a header that stays, and a body that scrolls."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from tars_jax.sandbox.phone.stand_in.screen.widgets import Box, TextField, Touch, Widget

HEADER = 48.0
ROW = 52.0
MARGIN = 14.0


class Layout:
    """An app fills it from the top; `widgets` then are those that can be seen. Lengths in dp."""

    def __init__(self, width: float, height: float, scroll: float) -> None:
        self.width, self.height = width, height
        self._scroll = scroll
        self._top = 0.0  # where the body begins
        self._bottom = height  # where it ends
        self._fixed: list[Widget] = []
        self._body: list[Widget] = []
        self._y = 0.0  # the next row, from the body's top

    @property
    def most_scroll(self) -> float:
        """The distance that the body can be scrolled."""
        return max(0.0, self._y - (self._bottom - self._top))

    @property
    def body_height(self) -> float:
        return self._bottom - self._top

    def widgets(self) -> list[Widget]:
        window = Box(0, self._top, self.width, self._bottom)
        offset = self._top - min(self._scroll, self.most_scroll)
        moved = (widget.moved(0, offset) for widget in self._body)
        shown = [dataclasses.replace(widget, visible=widget.box.clipped(window)) for widget in moved]
        return [widget for widget in shown if widget.visible.area > 0] + self._fixed

    def header(self, title: str, back: Touch | None = None, *actions: tuple[str, str, Touch]) -> None:
        """A title, an arrow in front of it, and buttons (id, text, touch) at its right end."""
        self.fixed("panel", "header", Box(0, 0, self.width, HEADER))
        left = MARGIN
        if back is not None:
            self.fixed("button", "up", Box(4, 6, 40, 42), text="←", tap=back)
            left = 48.0
        right = self.width - 8
        for id, text, touch in reversed(actions):
            wide = 26.0 + 8.0 * len(text)
            self.fixed("button", id, Box(right - wide, 8, right, 40), text=text, tap=touch)
            right -= wide + 6
        self.fixed("label", "title", Box(left, 0, right, HEADER), text=title)
        self._top = HEADER

    def fixed(self, kind: Any, id: str, box: Box, **options: Any) -> None:
        """A widget that does not scroll; its box is within the app's area."""
        self._fixed.append(Widget(kind, id, box, box, **options))

    def keep(self, height: float) -> Box:
        """Room at the lower end for widgets that do not scroll."""
        self._bottom -= height
        return Box(0, self._bottom, self.width, self._bottom + height)

    def row(self, id: str, text: str, detail: str = "", **options: Any) -> None:
        self._add("row", id, ROW, text=text, detail=detail, **options)

    def switch(self, id: str, text: str, checked: bool, toggle: Touch, detail: str = "") -> None:
        self._add("switch", id, ROW, text=text, detail=detail, checked=checked, tap=toggle)

    def slider(self, id: str, text: str, value: float, slide: Callable[[float], object]) -> None:
        self._add("slider", id, ROW + 8, text=text, value=value, slide=slide)

    def label(self, id: str, text: str, height: float = 30.0) -> None:
        self._add("label", id, height, text=text)

    def field(
        self, id: str, hint: str, field: TextField, focused: bool, focus: Touch, *, height: float = 44.0
    ) -> None:  # fmt: skip
        self._y += 6
        self._add("field", id, height, margin=MARGIN, text=field.text, detail=hint, focused=focused,
                  checked=field.selected or None, tap=focus)  # fmt: skip
        self._y += 6

    def button(self, id: str, text: str, touch: Touch) -> None:
        self._y += 6
        self._add("button", id, 40.0, margin=MARGIN, text=text, tap=touch)
        self._y += 6

    def grid(self, cells: Sequence[dict[str, Any]], columns: int, height: float, kind: Any = "button") -> None:
        """Cells in rows of `columns`, each with the fields of a widget; they scroll with the body."""
        wide = (self.width - 2 * MARGIN) / columns
        for index, cell in enumerate(cells):
            line, column = divmod(index, columns)
            box = Box(MARGIN + column * wide + 3, self._y + line * height + 3,
                      MARGIN + (column + 1) * wide - 3, self._y + (line + 1) * height - 3)  # fmt: skip
            self._body.append(Widget(kind, box=box, visible=box, **cell))
        self._y += height * -(-len(cells) // columns)

    def space(self, height: float) -> None:
        self._y += height

    def _add(self, kind: Any, id: str, height: float, margin: float = 0.0, **options: Any) -> None:
        box = Box(margin, self._y, self.width - margin, self._y + height)
        self._body.append(Widget(kind, id, box, box, **options))
        self._y += height
