"""Points in pixels of a resized screenshot, as models based on Qwen2.5-VL give them (UI-TARS-1.5-7B among them).

Such a model sees the screenshot after "smart resize" and answers in pixels of that image. `pixel_size` gives the
image's size, which `parse_response(..., pixel_size=...)` takes; `point_from_pixels` converts a single point.
"""

from __future__ import annotations

from tars_jax.agent.actions import Point
from tars_jax.model.image_size import smart_resize

UNIT = 28  # pixels a side of a token
MIN_PIXELS, MAX_PIXELS = 100 * UNIT**2, 16384 * UNIT**2


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
