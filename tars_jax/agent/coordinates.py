"""Points in pixels of a resized screenshot, as models based on Qwen2.5-VL give them (UI-TARS-1.5-7B among them).

Such a model sees the screenshot after "smart resize" and answers in pixels of that image. `smart_resize` gives the
image's size, which `parse_response(..., pixel_size=...)` takes; `point_from_pixels` converts a single point.
"""

from __future__ import annotations

import math

from tars_jax import InputError
from tars_jax.agent.actions import Point

FACTOR = 28
MIN_PIXELS = 100 * FACTOR * FACTOR
MAX_PIXELS = 16384 * FACTOR * FACTOR
MAX_ASPECT_RATIO = 200


def smart_resize(
    height: int, width: int, factor: int = FACTOR, min_pixels: int = MIN_PIXELS, max_pixels: int = MAX_PIXELS
) -> tuple[int, int]:
    """(height, width) of the image that the model sees: multiples of `factor`, their product within the bounds.

    The aspect ratio is kept as nearly as the rounding allows.

    Raises:
      InputError: a side is not positive, or one is more than 200 times the other.
    """
    if height < 1 or width < 1:
        raise InputError(f"smart_resize takes a height and width of at least 1, got {height} x {width}")
    if max(height, width) > MAX_ASPECT_RATIO * min(height, width):
        raise InputError(f"smart_resize takes an aspect ratio of at most {MAX_ASPECT_RATIO}, got {height} x {width}")
    resized_height = max(factor, round(height / factor) * factor)
    resized_width = max(factor, round(width / factor) * factor)
    if resized_height * resized_width > max_pixels:
        shrink = math.sqrt(height * width / max_pixels)
        resized_height = max(factor, math.floor(height / shrink / factor) * factor)
        resized_width = max(factor, math.floor(width / shrink / factor) * factor)
    elif resized_height * resized_width < min_pixels:
        grow = math.sqrt(min_pixels / (height * width))
        resized_height = math.ceil(height * grow / factor) * factor
        resized_width = math.ceil(width * grow / factor) * factor
    return resized_height, resized_width


def point_from_pixels(x: float, y: float, width: int, height: int) -> Point:
    """The grid point of pixel (x, y) of the resized image of a screenshot of `width` x `height`.

    Raises:
      InputError: the pixel lies outside of the resized image.
    """
    resized_height, resized_width = smart_resize(height, width)
    return Point.from_pixels(x, y, resized_width, resized_height)
