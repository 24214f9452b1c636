"""A policy's view of an observation: its text within a bound of tokens, and the token count of its screenshot.

Models based on Qwen2.5-VL (UI-TARS-1.5-7B among them) see the screenshot after "smart resize" and answer in pixels of
that image. `pixel_size` gives the image's size, which `parse_response(..., pixel_size=...)` takes; `point_from_pixels`
maps a point onto the grid of 0..1000.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from tars_jax.agent.actions import Point
from tars_jax.model.config import smart_resize

_MOST_CHARACTERS = 32  # of a token; what a text has beyond that for each token is not looked at
UNIT = 28  # pixels a side of a token
MIN_PIXELS, MAX_PIXELS = 100 * UNIT**2, 16384 * UNIT**2


@dataclasses.dataclass(frozen=True)
class ShownObservation:
    """An observation as it stands in a window."""

    text: str = ""
    image_tokens: int = 0  # 0: without a screenshot


def truncate_middle(text: str, most: int, count: Callable[[str], int]) -> str:
    """A text of at most `most` tokens, as `count` counts them: what is cut is marked in the middle.

    Whole lines are kept, from both ends; of a line that is too long for that, both ends. A bound that holds no mark
    leaves nothing.
    """
    if most <= 0 or not text:
        return ""

    def fits(candidate: str) -> bool:
        return len(candidate) <= most * _MOST_CHARACTERS and count(candidate) <= most

    if fits(text):
        return text
    lines = text.splitlines()
    return _cut(lines, "lines", "\n", fits) or _cut(text, "characters", "", fits)


def _cut(parts: Sequence[str], unit: str, between: str, fits: Callable[[str], bool]) -> str:
    """The most parts from both ends that fit, with a mark between them; empty where none does."""

    def keeping(kept: int) -> str:
        head, tail = parts[: -(-kept // 2)], parts[len(parts) - kept // 2 :]
        return between.join([*head, f"[{len(parts) - kept} {unit} left out]", *tail])

    low, high = 0, len(parts) - 1
    while low < high:  # a bisection: what is longer fits less
        middle = -(-(low + high) // 2)
        low, high = (middle, high) if fits(keeping(middle)) else (low, middle - 1)
    if low == 0 and (between or not fits(keeping(0))):
        return ""
    return keeping(low)


def pixel_size(height: int, width: int) -> tuple[int, int]:
    """(height, width) of the image in whose pixels such a model answers.

    Raises InputError where a side has no pixel, or one is more than 200 times the other.
    """
    return smart_resize(height, width, UNIT, MIN_PIXELS, MAX_PIXELS)


def point_from_pixels(x: float, y: float, width: int, height: int) -> Point:
    """The grid point of pixel (x, y) of the resized image of a screenshot of `width` x `height`.

    Raises:
      InputError: the pixel lies outside of the resized image.
    """
    resized_height, resized_width = pixel_size(height, width)
    return Point.from_pixels(x, y, resized_width, resized_height)
