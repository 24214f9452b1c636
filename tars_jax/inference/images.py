"""Images on the wire: data URLs, never addresses. The server fetches nothing from anywhere."""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Callable, Sequence

import numpy as np
from PIL import Image

from tars_jax.web.protocol import RequestError, shown

FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/jpg": "JPEG", "image/webp": "WEBP"}

# Images of more are decoded in a thread, so that they hold nobody up. A few bytes can be a great many pixels.
INLINE_BYTES, INLINE_PIXELS = 1 << 16, 1 << 18

Fit = Callable[[Image.Image], np.ndarray]  # an image of any size to the pixels that the model reads, uint8 [H, W, 3]


def exact(image: Image.Image) -> np.ndarray:
    """The image's own pixels."""
    return np.asarray(image.convert("RGB"))


def decode_image(url: str, param: str, max_pixels: int, fit: Fit = exact) -> np.ndarray:
    """The pixels of a data URL, uint8 [height, width, 3].

    Raises RequestError that names `param` for another address, another format, damaged data and an image of more than
    `max_pixels`, which is seen before anything is unpacked.
    """
    image = _packed(url, param, max_pixels)
    try:
        image.load()
    except Exception as error:  # Pillow's decoders raise what they like
        raise RequestError(f"{param} is a damaged {image.format}: {error}", param) from error
    return fit(image)


def take_long(urls: Sequence[str], max_pixels: int) -> bool:
    """Whether `decode_image` takes long for these. What it refuses takes no time."""
    return sum(map(len, urls)) > INLINE_BYTES or sum(_pixels(url, max_pixels) for url in urls) > INLINE_PIXELS


def _pixels(url: str, max_pixels: int) -> int:
    try:
        image = _packed(url, "", max_pixels)
    except RequestError:
        return 0
    return image.width * image.height


def _packed(url: str, param: str, max_pixels: int) -> Image.Image:
    """The image with its size known and nothing unpacked."""
    head, comma, data = url.partition(",")
    kind = head.removeprefix("data:").removesuffix(";base64")
    if not comma or head != f"data:{kind};base64" or kind not in FORMATS:
        raise RequestError(
            f"{param} got {shown(url)}; it takes a data URL, data:image/png;base64,... (or jpeg, webp): "
            "this server fetches nothing",
            param,
        )
    try:
        image = Image.open(io.BytesIO(base64.b64decode(data, validate=True)), formats=(FORMATS[kind],))
    except (binascii.Error, ValueError) as error:
        raise RequestError(f"{param} is not base64: {error}", param) from error
    except Image.DecompressionBombError as error:
        raise RequestError(f"{param} is too large: {error}; it takes at most {max_pixels} pixels", param) from error
    except Exception as error:  # as above
        raise RequestError(f"{param} is no image of type {kind}", param) from error
    if image.width * image.height > max_pixels:
        raise RequestError(f"{param} has {image.width}x{image.height} pixels; it takes at most {max_pixels}", param)
    return image


def encode_image(pixels: np.ndarray) -> str:
    """uint8 [height, width, 3] as the data URL of a PNG. Packed lightly: the wire is faster than zlib."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", compress_level=1)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
