"""Data URLs as others write them."""

import asyncio
import base64
import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from tars_jax import InputError
from tars_jax.inference.images import Fit, ImageUrl, decode_images, exact
from tars_jax.model.preprocessing import opaque
from tars_jax.web.protocol import RequestError


def flat(value: int) -> Image.Image:
    return Image.new("RGB", (6, 4), (value, 0, 255 - value))


def encoded(kind: str, **options: object) -> str:
    file = io.BytesIO()
    flat(200).save(file, kind, **options)
    return base64.b64encode(file.getvalue()).decode()


def decoded(url: str, fit: Fit = exact) -> np.ndarray:
    [pixels] = asyncio.run(decode_images([ImageUrl(url, "here")], 1000, fit))
    return pixels


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        ("data:image/png;base64,", "PNG"),
        ("data:image/PNG;base64,", "PNG"),
        ("DATA:Image/Jpeg;Base64,", "JPEG"),
        ("data:image/png;charset=utf-8;base64,", "PNG"),
        ("data:image/webp;name=a.webp;base64,", "WEBP"),
        ("data:image/gif;base64,", "GIF"),
        ("data:image/jpeg;base64,", "PNG"),
    ],
)
def test_types_as_they_are_written(head: str, kind: str) -> None:
    assert np.abs(decoded(head + encoded(kind)).astype(int) - np.asarray(flat(200))).max() < 8


def test_the_first_picture_of_an_animated_one() -> None:
    url = "data:image/gif;base64," + encoded("GIF", save_all=True, append_images=[flat(20), flat(90)])
    assert (decoded(url) == np.asarray(flat(200))).all()


def png_of_16_bits(colour_type: int, values: np.ndarray, transparency: bytes = b"") -> str:
    """As the format's specification has it: Pillow writes no such image of several channels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    head = struct.pack(">IIBBBBB", values.shape[1], values.shape[0], 16, colour_type, 0, 0, 0)
    parts = [chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    if transparency:
        parts.insert(1, chunk(b"tRNS", transparency))
    data = b"\x89PNG\r\n\x1a\n" + b"".join(parts)
    return "data:image/png;base64," + base64.b64encode(data).decode()


def test_a_greyscale_of_16_bits_is_what_it_is_in_colour() -> None:
    grey = np.arange(0, 1 << 16, 257).reshape(16, 16)
    in_colour = decoded(png_of_16_bits(2, np.stack([grey] * 3, -1)))
    assert (decoded(png_of_16_bits(0, grey)) == in_colour).all() and in_colour.max() == 255
    assert np.unique(in_colour).size == 256
    on_white = decoded(png_of_16_bits(0, grey, transparency=b"\x00\x00"), lambda image: np.asarray(opaque(image)))
    assert on_white[0, 0].tolist() == [255] * 3 and (on_white[1:] == in_colour[1:]).all()


@pytest.mark.parametrize("head", ["data:image/bmp;base64,", "data:image/png,", "data:;base64,", "image/png;base64,"])
def test_other_heads(head: str) -> None:
    with pytest.raises(RequestError, match=r"^here got .*it takes a data URL"):
        decoded(head + encoded("PNG"))


def test_what_is_no_image_of_these_types() -> None:
    for url in ("data:image/png;base64," + encoded("BMP"), "data:image/gif;base64,R0lGODlhAAAA"):
        with pytest.raises(RequestError, match="here is no image of type PNG, JPEG, WEBP, GIF"):
            decoded(url)
    with pytest.raises(RequestError, match="here has 400x10 pixels"):
        large = io.BytesIO()
        Image.new("P", (400, 10)).save(large, "GIF")
        decoded("data:image/gif;base64," + base64.b64encode(large.getvalue()).decode())


def test_a_shape_that_the_policy_does_not_read() -> None:
    def fit(image: Image.Image) -> np.ndarray:
        raise InputError("too thin")

    with pytest.raises(RequestError, match="here: too thin"):
        decoded("data:image/png;base64," + encoded("PNG"), fit)


def test_one_image_at_a_time_is_unpacked() -> None:
    """Sixty-four of 4096 x 4096 are 5 MB of base64, and three gigabytes of pixels."""
    seen: list[Image.Image] = []

    def fit(image: Image.Image) -> np.ndarray:
        for earlier in seen:
            with pytest.raises(ValueError, match="closed"):
                earlier.getpixel((0, 0))
        seen.append(image)
        return exact(image)

    urls = [ImageUrl("data:image/png;base64," + encoded("PNG"), "here")] * 3
    assert len(asyncio.run(decode_images(urls, 1000, fit))) == len(seen) == 3
