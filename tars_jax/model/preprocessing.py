"""Screenshots of any size to the pixels that a model reads, as `transformers` does it for the Qwen vision families.

Axes: I images, P patches. On the host: `fit_image`. On the device, from then on: `patches`.
"""

from __future__ import annotations

import hashlib
from typing import TypeVar

import einops
import jax
import jax.numpy as jnp
import numpy as np
from PIL import Image

from tars_jax.model.config import VisionConfig, smart_resize
from tars_jax.pictures import opaque

Pixels = TypeVar("Pixels", np.ndarray, jax.Array)


def fit_image(image: Image.Image, config: VisionConfig) -> np.ndarray:
    """An image to uint8 [height, width, 3] of `smart_resize`, by bicubic interpolation where that is another size.

    Equal to the Pillow backend of `transformers`, byte for byte; the torchvision backend rounds some bytes by one.

    Raises:
        InputError: one side is more than 200 times the other.
    """
    unit = config.patch * config.merge
    height, width = smart_resize(image.height, image.width, unit, config.min_pixels, config.max_pixels)
    image = opaque(image)
    if image.size != (width, height):
        image = image.resize((width, height), Image.Resampling.BICUBIC)
    return np.asarray(image)


def image_key(pixels: np.ndarray) -> bytes:
    """The key of an image in caches of image features: equal for equal pixels of equal size alone."""
    return hashlib.sha256(np.ascontiguousarray(pixels).data).digest() + str(pixels.shape).encode()


def normalize(images: Pixels, config: VisionConfig) -> Pixels:
    """Bytes [..., 3] to float32 with the channel means and deviations that the encoder was trained on.

    The same operations in the same order as the Pillow backend of `transformers`; the torchvision backend folds the
    division by 255 into mean and deviation and differs in the last bit.
    """
    mean, std = np.asarray(config.pixel_mean, np.float32), np.asarray(config.pixel_std, np.float32)
    return (images.astype(jnp.float32) / np.float32(255) - mean) / std


def patches(images: Pixels, config: VisionConfig) -> Pixels:
    """uint8 [I, height, width, 3] to float32 [I, P, 3 * temporal * patch^2]; a decoder token's patches are neighbors.

    A patch is ordered by channel, frame, row, column; all frames of a still image are the same.
    """
    return einops.repeat(
        normalize(images, config),
        "i (h mh p) (w mw q) c -> i (h w mh mw) (c t p q)",
        p=config.patch,
        q=config.patch,
        mh=config.merge,
        mw=config.merge,
        t=config.temporal,
    )
