"""Images on the wire: data URLs, never addresses. The server fetches nothing from anywhere."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import dataclasses
import io
from collections.abc import Callable, Sequence

import numpy as np
from PIL import Image

from tars_jax import InputError
from tars_jax.web.protocol import RequestError, shown

TYPES = ("image/png", "image/jpeg", "image/jpg", "image/webp", "image/gif")
FORMATS = ("PNG", "JPEG", "WEBP", "GIF")  # of an animated one, the first picture

# Images of more are decoded in a thread, so that they hold nobody up. A few bytes can be a great many pixels.
INLINE_BYTES, INLINE_PIXELS = 1 << 16, 1 << 18

Fit = Callable[[Image.Image], np.ndarray]  # an image of any size to the pixels that the model reads, uint8 [H, W, 3]


@dataclasses.dataclass(frozen=True)
class ImageUrl:
    """An image that is not decoded yet, and where it stands in the request."""

    url: str
    param: str


def exact(image: Image.Image) -> np.ndarray:
    """The image's own pixels."""
    return np.asarray(image.convert("RGB"))


async def decode_images(urls: Sequence[ImageUrl], max_pixels: int, fit: Fit = exact) -> list[np.ndarray]:
    """The pixels of data URLs, uint8 [height, width, 3] each.

    Raises RequestError that names the field for another address, another format, damaged data and an image of more
    than `max_pixels`, which is seen before anything is unpacked.
    """

    def opened() -> list[Image.Image]:
        return [_opened(each, max_pixels) for each in urls]

    def unpacked(images: Sequence[Image.Image]) -> list[np.ndarray]:
        return [_unpacked(image, each.param, fit) for image, each in zip(images, urls, strict=True)]

    if sum(len(each.url) for each in urls) > INLINE_BYTES:
        return await asyncio.to_thread(lambda: unpacked(opened()))
    images = opened()
    if sum(image.width * image.height for image in images) > INLINE_PIXELS:
        return await asyncio.to_thread(unpacked, images)
    return unpacked(images)


def _opened(image_url: ImageUrl, max_pixels: int) -> Image.Image:
    """The image with its size known and nothing unpacked.

    Its bytes say what it is: clients that write image/jpeg over everything are many.
    """
    param = image_url.param
    head, comma, data = image_url.url.partition(",")
    scheme, _, media_type = head.lower().partition(":")
    kind, *parameters = media_type.split(";")
    if not comma or scheme != "data" or kind not in TYPES or parameters[-1:] != ["base64"]:
        raise RequestError(
            f"{param} got {shown(image_url.url)}; it takes a data URL, data:image/png;base64,... "
            "(or jpeg, webp, gif): this server fetches nothing",
            param,
        )
    try:
        image = Image.open(io.BytesIO(base64.b64decode(data, validate=True)), formats=FORMATS)
    except (binascii.Error, ValueError) as error:
        raise RequestError(f"{param} is not base64: {error}", param) from error
    except Image.DecompressionBombError as error:
        raise RequestError(f"{param} is too large: {error}; it takes at most {max_pixels} pixels", param) from error
    except Exception as error:  # Pillow's decoders raise what they like
        raise RequestError(f"{param} is no image of type {', '.join(FORMATS)}", param) from error
    if image.width * image.height > max_pixels:
        raise RequestError(f"{param} has {image.width}x{image.height} pixels; it takes at most {max_pixels}", param)
    return image


def _unpacked(image: Image.Image, param: str, fit: Fit) -> np.ndarray:
    with contextlib.closing(image):  # one at a time is unpacked: a few bytes can be a great many pixels
        try:
            image.load()
        except Exception as error:  # as above
            raise RequestError(f"{param} is a damaged {image.format}: {error}", param) from error
        try:
            return fit(_of_bytes(image) if image.mode.startswith("I") else image)
        except InputError as error:  # of a shape that the policy does not read
            raise RequestError(f"{param}: {error}", param) from error


def _of_bytes(image: Image.Image) -> Image.Image:
    """A greyscale image of 16 bits with the upper 8 of each, as Pillow reads all others of 16 bits; this one it would
    cut off at 255, which is white."""
    wide = np.asarray(image)
    grey = Image.fromarray((wide >> 8).astype(np.uint8))
    if (clear := image.info.get("transparency")) is not None:  # the one value that is
        grey.putalpha(Image.fromarray(np.where(wide == clear, 0, 255).astype(np.uint8)))
    return grey


def encode_image(pixels: np.ndarray) -> str:
    """uint8 [height, width, 3] as the data URL of a PNG. Packed lightly: the wire is faster than zlib."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", compress_level=1)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
