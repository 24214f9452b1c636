"""What a list shows of a computer: its desktop, or the last words of its shells as a picture of a terminal."""

from __future__ import annotations

import functools
import io
import textwrap

from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT, COLUMNS, ROWS = 640, 400, 76, 22
PAPER, INK, FAINT = (16, 20, 27), (214, 222, 233), (110, 122, 140)


@functools.lru_cache(maxsize=64)
def terminal_picture(words: str) -> bytes:
    """PNG of the last lines."""
    lines = [
        part for line in words.splitlines() for part in textwrap.wrap(line, COLUMNS, drop_whitespace=False) or [""]
    ]
    image = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(14)
    for row, line in enumerate(lines[-ROWS:]):
        printable = "".join(letter if letter.isprintable() else " " for letter in line)
        draw.text((14, 12 + 17 * row), printable, fill=FAINT if line.startswith("$ ") else INK, font=font)
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()
