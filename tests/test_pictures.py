"""One reader of pictures: the same pixels for the engine, the server, the learner, MCP's tools and data sets."""

from __future__ import annotations

import asyncio
import base64
import io
import zlib
from collections.abc import Callable

import mcp_types as types
import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from tars_jax import InputError
from tars_jax.data.images import read_image
from tars_jax.environment import Observation
from tars_jax.inference.data_urls import ImageUrl, decode_images
from tars_jax.pictures import pixels_of, plain_png, size_of
from tars_jax.sandbox.tools.mcp.content import answer_of

# Two rows of three: red, green, blue; then white, gray, black.
COLORS = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255]], [[255, 255, 255], [128, 128, 128], [0, 0, 0]]], np.uint8)


def file_of(image: Image.Image, kind: str = "PNG", **more: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **more)
    return file.getvalue()


def turned(kind: str = "PNG") -> bytes:
    """Lies on its side, and says so."""
    exif = Image.Exif()
    exif[0x0112] = 6  # turn it by 90 degrees clockwise
    return file_of(Image.fromarray(np.rot90(COLORS).copy()), kind, exif=exif, lossless=True)


def clear() -> bytes:
    """Black on nothing: white where nothing is, gray where it is half."""
    alpha = np.array([[255, 0, 127]], np.uint8)
    return file_of(Image.fromarray(np.concatenate([np.zeros((1, 3, 3), np.uint8), alpha[..., None]], -1)))


def with_clear_color() -> bytes:
    image = Image.fromarray(np.array([[0, 1, 0]], np.uint8))
    image = image.convert("P")
    image.putpalette([9, 9, 9, 0, 0, 0])
    return file_of(image, transparency=0)


def wide() -> bytes:
    """Gray of 16 bits."""
    return file_of(Image.fromarray(np.array([[0, 0x80FF, 0xFFFF]], np.uint16)))


def with_long_text() -> bytes:
    info = PngImagePlugin.PngInfo()
    info.add_text("note", "x" * (2 << 20), zip=True)
    return file_of(Image.fromarray(COLORS), pnginfo=info)


def with_wrong_profile() -> bytes:
    png = file_of(Image.fromarray(COLORS))
    body = b"iCCP" + b"p\0\0" + zlib.compress(b"nonsense")
    return png[:33] + len(body[4:]).to_bytes(4) + body + b"\0\0\0\0" + png[33:]  # and of a wrong checksum


CASES: dict[str, tuple[Callable[[], bytes], np.ndarray]] = {
    "turned": (turned, COLORS),
    "turned webp": (lambda: turned("WEBP"), COLORS),
    "clear": (clear, np.array([[[0] * 3, [255] * 3, [128] * 3]], np.uint8)),
    "a clear color": (with_clear_color, np.array([[[255] * 3, [0] * 3, [255] * 3]], np.uint8)),
    "16 bits": (wide, np.array([[[0] * 3, [128] * 3, [255] * 3]], np.uint8)),
    "long text": (with_long_text, COLORS),
    "wrong profile": (with_wrong_profile, COLORS),
    "plain": (lambda: file_of(Image.fromarray(COLORS)), COLORS),
}


@pytest.mark.parametrize("name", CASES)
def test_all_see_the_same_pixels(name: str) -> None:
    made, expected = CASES[name]
    content = made()
    assert np.array_equal(pixels_of(content), expected) and size_of(content) == expected.shape[:2]
    seen = Observation(content).pixels
    assert seen is not None and np.array_equal(seen, expected)
    png = read_image(content, None, "here")  # type: ignore[arg-type]
    kept = Image.open(io.BytesIO(png))  # as any reader of others sees it
    assert kept.format == "PNG" and np.array_equal(np.asarray(kept.convert("RGB")), expected)
    assert (png == content) == (name == "plain") and plain_png(png) == png
    data = base64.b64encode(content).decode()
    result = types.CallToolResult(content=[types.ImageContent(type="image", data=data, mime_type="image/png")])
    (shown,) = answer_of(result).images
    assert np.array_equal(pixels_of(shown), expected)


@pytest.mark.parametrize("name", CASES)
def test_the_server_sees_them_so(name: str) -> None:
    made, expected = CASES[name]
    url = f"data:image/png;base64,{base64.b64encode(made()).decode()}"
    (pixels,) = asyncio.run(decode_images([ImageUrl(url, "here")], 1000))
    assert np.array_equal(pixels, expected)


@pytest.mark.parametrize("content", [b"", b"no picture", file_of(Image.fromarray(COLORS))[:60]])
def test_what_is_no_picture_is_said(content: bytes) -> None:
    for read in (pixels_of, plain_png):
        with pytest.raises(InputError, match=r"here must be an image; got \d+ bytes"):
            read(content, "here")
