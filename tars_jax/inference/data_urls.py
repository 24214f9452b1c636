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
from tars_jax.json_fields import short_repr
from tars_jax.pictures import as_seen, opened
from tars_jax.web.protocol import RequestError

TYPES = ("image/png", "image/jpeg", "image/jpg", "image/webp", "image/gif")
FORMATS = ("PNG", "JPEG", "WEBP", "GIF")  # of an animated one, the first picture
OTHERS = {  # how files begin, behind the size of their first part where they have one
    "HEIC": (b"ftyphe", b"ftypmif1", b"ftypmsf1"),
    "AVIF": (b"ftypavi",),
    "TIFF": (b"II*\0", b"MM\0*"),
    "BMP": (b"BM",),
    "SVG": (b"<svg", b"<?xml"),
}

# Images of more are decoded in a thread, so that they hold nobody up. A few bytes can be a great many pixels.
INLINE_BYTES, INLINE_PIXELS = 1 << 16, 1 << 18

Fit = Callable[[Image.Image], np.ndarray]  # an image of any size to the pixels that the model reads, uint8 [H, W, 3]


@dataclasses.dataclass(frozen=True)
class ImageUrl:
    """An image that is not decoded yet, and where it stands in the request."""

    url: str
    param: str


def exact(image: Image.Image) -> np.ndarray:
    """The image's own pixels; what is transparent stands on white."""
    return np.asarray(as_seen(image))


async def decode_images(urls: Sequence[ImageUrl], max_pixels: int, fit: Fit = exact) -> list[np.ndarray]:
    """The pixels of data URLs, uint8 [height, width, 3] each.

    Raises RequestError that names the field for another address, another format, damaged data and an image of more
    than `max_pixels`, which is seen before anything is unpacked.
    """

    def all_opened() -> list[Image.Image]:
        return [_opened(each, max_pixels) for each in urls]

    def unpacked(images: Sequence[Image.Image]) -> list[np.ndarray]:
        return [_unpacked(image, each.param, fit) for image, each in zip(images, urls, strict=True)]

    if sum(len(each.url) for each in urls) > INLINE_BYTES:
        return await asyncio.to_thread(lambda: unpacked(all_opened()))
    images = all_opened()
    if sum(image.width * image.height for image in images) > INLINE_PIXELS:
        return await asyncio.to_thread(unpacked, images)
    return unpacked(images)


def image_size(image_url: ImageUrl, max_pixels: int) -> tuple[int, int]:
    """(width, height) of an image, of which nothing is unpacked. Raises as `decode_images`."""
    with contextlib.closing(_opened(image_url, max_pixels)) as image:
        return image.size


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
            f"{param} must be a data URL, data:image/png;base64,... (or jpeg, webp, gif), as nothing is fetched; "
            f"got {short_repr(image_url.url)}",
            param,
        )
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:  # of characters beyond ASCII
        raise RequestError(f"{param} must be base64; got {error}", param) from error
    try:
        image = opened(content, FORMATS)
    except Image.DecompressionBombError as error:
        raise RequestError(f"{param} must have at most {max_pixels} pixels; got more: {error}", param) from error
    except Image.UnidentifiedImageError as error:
        raise RequestError(f"{param} must be one of {', '.join(FORMATS)}; got {_kind_of(content)}", param) from error
    except Exception as error:  # Pillow's decoders raise what they like
        raise RequestError(f"{param} is damaged: {error}", param) from error
    if image.width * image.height > max_pixels:
        raise RequestError(f"{param} must have at most {max_pixels} pixels; got {image.width}x{image.height}", param)
    return image


def _kind_of(content: bytes) -> str:
    """Names the format that the bytes are in instead, where that is known."""
    kinds = (kind for kind, heads in OTHERS.items() if content.startswith(heads) or content[4:16].startswith(heads))
    return next(kinds, "another")


def _unpacked(image: Image.Image, param: str, fit: Fit) -> np.ndarray:
    with contextlib.closing(image):  # one at a time is unpacked: a few bytes can be a great many pixels
        try:
            image.load()
        except Exception as error:  # as above
            raise RequestError(f"{param} is a damaged {image.format}: {error}", param) from error
        try:
            return fit(as_seen(image))
        except InputError as error:  # of a shape that the policy does not read
            raise RequestError(f"{param}: {error}", param) from error


def encode_image(pixels: np.ndarray) -> str:
    """uint8 [height, width, 3] as the data URL of a PNG. Packed lightly: the wire is faster than zlib."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", compress_level=1)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
