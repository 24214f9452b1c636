"""Widgets of the stand-in's screens: their place, their text, and what a finger does to them.

Lengths are dp (density-independent pixels, 1/160 inch), as on Android; `../device/device.py` multiplies by the density.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Literal

Kind = Literal["label", "button", "row", "switch", "slider", "field", "icon", "key", "panel"]
Touch = Callable[[], object]


@dataclasses.dataclass(frozen=True)
class Box:
    """A rectangle: its left and top are inside, its right and bottom are not."""

    left: float
    top: float
    right: float
    bottom: float

    def contains(self, x: float, y: float) -> bool:
        return self.left <= x < self.right and self.top <= y < self.bottom

    def moved(self, x: float, y: float) -> Box:
        return Box(self.left + x, self.top + y, self.right + x, self.bottom + y)

    def clipped(self, other: Box) -> Box:
        """The part that is inside `other`; without area where there is none."""
        left, top = max(self.left, other.left), max(self.top, other.top)
        return Box(left, top, max(left, min(self.right, other.right)), max(top, min(self.bottom, other.bottom)))

    @property
    def area(self) -> float:
        return (self.right - self.left) * (self.bottom - self.top)


@dataclasses.dataclass
class TextField:
    """A text being edited. The cursor is behind its last character; all of it may be selected."""

    text: str = ""
    lines: bool = False  # whether Enter begins a new line
    selected: bool = False

    def insert(self, text: str) -> None:
        self.text = text if self.selected else self.text + text
        self.selected = False

    def delete(self) -> None:
        self.text = "" if self.selected else self.text[:-1]
        self.selected = False


@dataclasses.dataclass(frozen=True)
class Widget:
    """A widget: one thing on the screen."""

    kind: Kind
    id: str  # unique on its screen
    box: Box  # of the whole
    visible: Box  # what is not scrolled away
    text: str = ""
    detail: str = ""  # a second, smaller line
    checked: bool | None = None  # of a switch
    value: float = 0.0  # of a slider, 0..1
    focused: bool = False
    color: str = ""  # of an icon or a button; "": the theme's
    tap: Touch | None = None
    hold: Touch | None = None  # a long press
    slide: Callable[[float], object] | None = None  # takes where in its width a finger was lifted, 0..1
    dropped: Callable[[str], object] | None = None  # takes the id of the widget that this one was dragged to

    def moved(self, x: float, y: float) -> Widget:
        return dataclasses.replace(self, box=self.box.moved(x, y), visible=self.visible.moved(x, y))
