"""Images on the wire: data URLs, never addresses. The server fetches nothing from anywhere."""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Callable

import numpy as np
from PIL import Image

from tars_jax.web.protocol import RequestError, shown

FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/jpg": "JPEG", "image/webp": "WEBP"}

Fit = Callable[[Image.Image], np.ndarray]  # an image of any size to the pixels that the model reads, uint8 [H, W, 3]


def exact(image: Image.Image) -> np.ndarray:
    """The image's own pixels."""
    return np.asarray(image.convert("RGB"))


def decode_image(url: str, param: str, max_pixels: int, fit: Fit = exact) -> np.ndarray:
    """The pixels of a data URL, uint8 [height, width, 3].

    Raises RequestError that names `param` for another address, another format, damaged data and an image of more than
    `max_pixels`, which is seen before anything is unpacked.
    """
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
    except Exception as error:  # Pillow's decoders raise what they like
        raise RequestError(f"{param} is no image of type {kind}", param) from error
    if image.width * image.height > max_pixels:
        raise RequestError(f"{param} has {image.width}x{image.height} pixels; it takes at most {max_pixels}", param)
    try:
        image.load()
    except Exception as error:  # as above
        raise RequestError(f"{param} is a damaged {FORMATS[kind]}: {error}", param) from error
    return fit(image)


def encode_image(pixels: np.ndarray) -> str:
    """uint8 [height, width, 3] as the data URL of a PNG. Packed lightly: the wire is faster than zlib."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", compress_level=1)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
