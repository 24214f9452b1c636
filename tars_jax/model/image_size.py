"""The size that an image is read at. Nothing here needs jax: environments ask, too, in processes that hold no model."""

from __future__ import annotations

import math

from tars_jax import InputError

# Of the image, in pixels, where a checkpoint does not say.
MIN_PIXELS, MAX_PIXELS = 56 * 56, 28 * 28 * 1280
LARGEST_RATIO = 200


def smart_resize(
    height: int, width: int, unit: int, min_pixels: int = MIN_PIXELS, max_pixels: int = MAX_PIXELS
) -> tuple[int, int]:
    """(height, width) of an image of height x width as the Qwen vision families read it.

    Both sides are multiples of `unit` (patch * merge), the area lies between `min_pixels` and `max_pixels`, and the
    ratio changes as little as that allows.

    Raises InputError where one side is more than 200 times the other, or has no pixel.
    """
    if min(height, width) < 1:
        raise InputError(f"the sides of an image must be 1 pixel or more; got {height} x {width}")
    if max(height, width) > LARGEST_RATIO * min(height, width):
        raise InputError(
            f"a side of an image must be at most {LARGEST_RATIO} times the other; got {height} x {width} pixels"
        )
    rows, columns = round(height / unit), round(width / unit)
    if rows * columns * unit**2 > max_pixels:
        shrink = math.sqrt(height * width / max_pixels)
        rows, columns = (max(1, math.floor(side / shrink / unit)) for side in (height, width))
    elif rows * columns * unit**2 < min_pixels:
        grow = math.sqrt(min_pixels / (height * width))
        rows, columns = (math.ceil(side * grow / unit) for side in (height, width))
    return rows * unit, columns * unit
