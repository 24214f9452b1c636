"""Screenshots of any size to the pixels that a model reads, as `transformers` does it for the Qwen vision families.

Axes: I images, P patches. On the host: `fit`. On the device, from then on: `patches`.
"""

from __future__ import annotations

import math
from typing import TypeVar

import einops
import jax
import jax.numpy as jnp
import numpy as np
from PIL import Image

from tars_jax import InputError
from tars_jax.model.config import VisionConfig

Pixels = TypeVar("Pixels", np.ndarray, jax.Array)

# What `transformers` takes where a checkpoint does not say.
MIN_PIXELS, MAX_PIXELS = VisionConfig.min_pixels, VisionConfig.max_pixels
LARGEST_RATIO = 200


def smart_size(
    height: int, width: int, unit: int, min_pixels: int = MIN_PIXELS, max_pixels: int = MAX_PIXELS
) -> tuple[int, int]:
    """The size that an image of height x width is read at.

    Both sides are multiples of `unit` (patch * merge), the area lies between `min_pixels` and `max_pixels`, and the
    ratio changes as little as that allows. (Qwen2-VL `smart_resize`.)

    Raises:
        InputError: one side is more than 200 times the other, or has no pixel.
    """
    if min(height, width) < 1:
        raise InputError(f"an image of {height}x{width} pixels: both sides take at least 1")
    if max(height, width) > LARGEST_RATIO * min(height, width):
        raise InputError(
            f"an image of {height}x{width} pixels: one side may be at most {LARGEST_RATIO} times the other"
        )
    rows, columns = round(height / unit), round(width / unit)
    if rows * columns * unit**2 > max_pixels:
        shrink = math.sqrt(height * width / max_pixels)
        rows, columns = (max(1, math.floor(side / shrink / unit)) for side in (height, width))
    elif rows * columns * unit**2 < min_pixels:
        grow = math.sqrt(min_pixels / (height * width))
        rows, columns = (math.ceil(side * grow / unit) for side in (height, width))
    return rows * unit, columns * unit


def opaque(image: Image.Image) -> Image.Image:
    """An image of any mode in RGB; what is transparent stands on white."""
    if "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def fit(image: Image.Image, config: VisionConfig) -> np.ndarray:
    """An image to uint8 [height, width, 3] of its smart size, by bicubic interpolation when the size changes.

    Equal to the Pillow backend of `transformers`, byte for byte; the torchvision backend rounds some bytes by one.

    Raises:
        InputError: one side is more than 200 times the other.
    """
    unit = config.patch * config.merge
    height, width = smart_size(image.height, image.width, unit, config.min_pixels, config.max_pixels)
    image = opaque(image)
    if image.size != (width, height):
        image = image.resize((width, height), Image.Resampling.BICUBIC)
    return np.asarray(image)


def normalise(images: Pixels, config: VisionConfig) -> Pixels:
    """Bytes [..., 3] to float32 with the channel means and deviations that the encoder was trained on.

    The same operations in the same order as the Pillow backend of `transformers`; the torchvision backend folds the
    division by 255 into mean and deviation and differs in the last bit.
    """
    mean, std = np.asarray(config.pixel_mean, np.float32), np.asarray(config.pixel_std, np.float32)
    return (images.astype(jnp.float32) / np.float32(255) - mean) / std


def patches(images: Pixels, config: VisionConfig) -> Pixels:
    """uint8 [I, height, width, 3] to float32 [I, P, 3 * temporal * patch^2]; a decoder token's patches are neighbours.

    A patch is ordered by channel, frame, row, column; all frames of a still image are the same.
    """
    return einops.repeat(
        normalise(images, config),
        "i (h mh p) (w mw q) c -> i (h w mh mw) (c t p q)",
        p=config.patch,
        q=config.patch,
        mh=config.merge,
        mw=config.merge,
        t=config.temporal,
    )
