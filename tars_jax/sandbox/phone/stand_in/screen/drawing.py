"""Draws widgets with Pillow. The same widgets give the same bytes on every machine: the font is matplotlib's own."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from tars_jax.sandbox.phone.stand_in.screen.widgets import Box, Widget

LIGHT = {"back": "#f5f6f8", "panel": "#ffffff", "text": "#1c1f24", "dim": "#6a717c", "line": "#dfe2e7",
         "accent": "#2f6fde", "button": "#dde7fb", "key": "#ffffff", "keys": "#d3d8e0", "off": "#b4bac4"}  # fmt: skip
DARK = {"back": "#15171b", "panel": "#1f2329", "text": "#eceef2", "dim": "#9aa2ae", "line": "#31363f",
        "accent": "#7aa7ff", "button": "#2c3b57", "key": "#3a404a", "keys": "#22262d", "off": "#5a616d"}  # fmt: skip
Pixels = tuple[int, int, int, int]


@functools.lru_cache(maxsize=64)
def font(size: int) -> ImageFont.FreeTypeFont:
    found = importlib.util.find_spec("matplotlib")
    assert found is not None and found.origin is not None  # a dependency of the package
    return ImageFont.truetype(str(Path(found.origin).parent / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf"), size)


class Canvas:
    """An image of `width` x `height` pixels on which widgets in dp are drawn, `scale` pixels to a dp."""

    def __init__(self, width: int, height: int, scale: float, *, dark: bool, back: str = "") -> None:
        self.colors = DARK if dark else LIGHT
        self.image = Image.new("RGB", (width, height), back or self.colors["back"])
        self._scale = scale

    def draw(self, widgets: Sequence[Widget]) -> None:
        for widget in widgets:
            visible = self._pixels(widget.visible)
            if visible[2] <= visible[0] or visible[3] <= visible[1]:
                continue
            if widget.visible == widget.box:
                self._widget(ImageDraw.Draw(self.image), widget, self._pixels(widget.box))
                continue
            # What is scrolled away in part is drawn whole beside, and what can be seen of it is copied.
            whole = self._pixels(widget.box)
            size = (max(1, whole[2] - whole[0]), max(1, whole[3] - whole[1]))
            beside = Image.new("RGB", size, self.colors["back"])
            self._widget(ImageDraw.Draw(beside), widget, (0, 0, *size))
            shown = (visible[0] - whole[0], visible[1] - whole[1], visible[2] - whole[0], visible[3] - whole[1])
            self.image.paste(beside.crop(shown), visible[:2])

    def text(self, box: Box, text: str, size: float, color: str, anchor: str = "mm") -> None:
        """Text in a box of the screen, for what is no widget."""
        self._text(ImageDraw.Draw(self.image), self._pixels(box), text, size, color, anchor)

    def _pixels(self, box: Box) -> Pixels:
        left, top, right, bottom = (round(side * self._scale) for side in (box.left, box.top, box.right, box.bottom))
        return left, top, right, bottom

    def _px(self, length: float) -> int:
        return max(1, round(length * self._scale))

    def _widget(self, draw: ImageDraw.ImageDraw, widget: Widget, box: Pixels) -> None:
        colors, px = self.colors, self._px
        left, top, right, bottom = box
        middle = (top + bottom) // 2
        if widget.kind == "panel":
            draw.rectangle(
                (left, top, right - 1, bottom - 1),
                fill=widget.color or colors["keys" if widget.id == "keyboard" else "panel"],
            )
        elif widget.kind == "label":
            self._lines(draw, box, widget.text, 17 if widget.id in ("title", "display") else 14, colors["text"])
        elif widget.kind in ("button", "key"):
            fill = widget.color or colors["button" if widget.kind == "button" else "key"]
            draw.rounded_rectangle((left, top, right - 1, bottom - 1), px(7), fill=fill)
            color = "#ffffff" if widget.color else colors["text"]
            self._text(draw, box, widget.text, 15, color, "mm")
        elif widget.kind == "icon":
            side = min(right - left, bottom - top - px(20)) - px(12)
            x = (left + right) // 2
            draw.rounded_rectangle(
                (x - side // 2, top + px(6), x + side // 2, top + px(6) + side), px(14), fill=widget.color
            )
            inner = (x - side // 2, top + px(6), x + side // 2, top + px(6) + side)
            self._text(draw, inner, widget.detail, 24, "#ffffff", "mm")
            self._text(draw, (left, bottom - px(20), right, bottom), widget.text, 12, "#ffffff", "mm")
        elif widget.kind == "field":
            edge = colors["accent" if widget.focused else "line"]
            draw.rounded_rectangle(
                (left, top, right - 1, bottom - 1), px(6), fill=colors["panel"], outline=edge, width=px(2)
            )
            inner = (left + px(10), top + px(5), right - px(10), bottom - px(5))
            if widget.text or widget.focused:
                ends = self._lines(
                    draw, inner, widget.text, 15, colors["accent" if widget.checked else "text"], end=True
                )
                if widget.focused:
                    draw.rectangle((ends[0] + px(1), ends[1], ends[0] + px(2), ends[1] + px(18)), fill=colors["accent"])
            else:
                self._lines(draw, inner, widget.detail, 15, colors["dim"], end=True)
        else:
            self._row(draw, widget, box, middle)

    def _row(self, draw: ImageDraw.ImageDraw, widget: Widget, box: Pixels, middle: int) -> None:
        colors, px = self.colors, self._px
        left, top, right, bottom = box
        draw.rectangle((left, top, right - 1, bottom - 1), fill=colors["panel"])
        draw.line((left + px(14), bottom - 1, right - 1, bottom - 1), fill=colors["line"])
        room = px(64) if widget.kind == "switch" else px(14)
        upper = (left + px(14), top + px(4), right - room, middle + px(3))
        whole = (left + px(14), top, right - room, bottom)
        slider = widget.kind == "slider"
        self._text(draw, upper if widget.detail or slider else whole, widget.text, 15, colors["text"], "lm")
        if widget.detail:
            lower = (left + px(14), middle + px(2), right - room, bottom - px(4))
            self._text(draw, lower, widget.detail, 12, colors["dim"], "lm")
        if widget.kind == "switch":
            x, on = right - px(36), bool(widget.checked)
            fill = colors["accent" if on else "off"]
            draw.rounded_rectangle((x - px(18), middle - px(10), x + px(18), middle + px(10)), px(10), fill=fill)
            knob = x + (px(8) if on else -px(8))
            draw.ellipse((knob - px(8), middle - px(8), knob + px(8), middle + px(8)), fill="#ffffff")
        elif slider:
            y, span = bottom - px(18), right - left
            draw.line((left + px(14), y, right - px(14), y), fill=colors["off"], width=px(4))
            x = round(left + max(0.0, min(1.0, widget.value)) * span)
            x = max(left + px(14), min(right - px(14), x))
            draw.line((left + px(14), y, x, y), fill=colors["accent"], width=px(4))
            draw.ellipse((x - px(9), y - px(9), x + px(9), y + px(9)), fill=colors["accent"])

    def _text(self, draw: ImageDraw.ImageDraw, box: Pixels, text: str, size: float, color: str, anchor: str) -> None:
        """One line, cut where its box ends."""
        used = font(self._px(size))
        width = box[2] - box[0]
        if used.getlength(text) > width:
            while text and used.getlength(text + "…") > width:
                text = text[:-1]
            text += "…"
        x = (box[0] + box[2]) // 2 if anchor[0] == "m" else box[0]
        draw.text((x, (box[1] + box[3]) // 2), text, font=used, fill=color, anchor=anchor)

    def _lines(
        self, draw: ImageDraw.ImageDraw, box: Pixels, text: str, size: float, color: str, *, end: bool = False
    ) -> tuple[int, int]:  # fmt: skip
        """Text over several lines; the first of them (the last, with `end`) where not all have room.

        Returns where the last line ends.
        """
        used, high = font(self._px(size)), self._px(size * 1.35)
        lines: list[str] = []
        for paragraph in text.split("\n"):
            line = ""
            for letter in paragraph:
                if line and used.getlength(line + letter) > box[2] - box[0]:
                    lines.append(line)
                    line = ""
                line += letter
            lines.append(line)
        room = max(1, (box[3] - box[1]) // high)
        lines = lines[-room:] if end else lines[:room]
        top = (box[1] + box[3] - high * len(lines)) // 2 if room == 1 or not end else box[1]
        for index, line in enumerate(lines):
            draw.text((box[0], top + index * high + high // 2), line, font=used, fill=color, anchor="lm")
        return round(box[0] + used.getlength(lines[-1])), top + (len(lines) - 1) * high
