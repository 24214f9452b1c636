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
from tars_jax.inference.data_urls import Fit, ImageUrl, decode_images, exact
from tars_jax.pictures import opaque
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


def png_of_16_bits(color_type: int, values: np.ndarray, transparency: bytes = b"") -> str:
    """As the format's specification has it: Pillow writes no such image of several channels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    head = struct.pack(">IIBBBBB", values.shape[1], values.shape[0], 16, color_type, 0, 0, 0)
    parts = [chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    if transparency:
        parts.insert(1, chunk(b"tRNS", transparency))
    data = b"\x89PNG\r\n\x1a\n" + b"".join(parts)
    return "data:image/png;base64," + base64.b64encode(data).decode()


def test_a_grayscale_of_16_bits_is_what_it_is_in_color() -> None:
    gray = np.arange(0, 1 << 16, 257).reshape(16, 16)
    in_color = decoded(png_of_16_bits(2, np.stack([gray] * 3, -1)))
    assert (decoded(png_of_16_bits(0, gray)) == in_color).all() and in_color.max() == 255
    assert np.unique(in_color).size == 256
    on_white = decoded(png_of_16_bits(0, gray, transparency=b"\x00\x00"), lambda image: np.asarray(opaque(image)))
    assert on_white[0, 0].tolist() == [255] * 3 and (on_white[1:] == in_color[1:]).all()


CORNERS = np.kron(
    np.array([[[250, 0, 0], [0, 250, 0]], [[0, 0, 250], [250, 250, 250]]], np.uint8), np.ones((8, 16, 1), np.uint8)
)
RED, GREEN, BLUE, WHITE = "RGBW"
TURNED = {  # by EXIF orientation, as its specification has it: the corners from the upper left on, clockwise
    1: "RGWB",
    2: "GRBW",
    3: "WBRG",
    4: "BWGR",
    5: "RBWG",
    6: "BRGW",
    7: "WGRB",
    8: "GWBR",
}


def corners(pixels: np.ndarray) -> str:
    places = [pixels[2, 2], pixels[2, -3], pixels[-3, -3], pixels[-3, 2]]
    return "".join("W" if place.min() > 128 else "RGB"[place.argmax()] for place in places)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("orientation", TURNED)
def test_a_photo_is_turned_as_its_exif_says(kind: str, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    file = io.BytesIO()
    Image.fromarray(CORNERS).save(file, kind, exif=exif, quality=95)
    pixels = decoded(f"data:image/{kind.lower()};base64," + base64.b64encode(file.getvalue()).decode())
    assert pixels.shape == ((16, 32, 3) if orientation < 5 else (32, 16, 3))
    assert corners(pixels) == TURNED[orientation]


@pytest.mark.parametrize("exif", [b"Exif\0\0garbage", b"Exif\0\0MM\0*\0\0\0\x08\0\x09", b""])
def test_a_photo_of_damaged_exif_stands_as_it_is(exif: bytes) -> None:
    file = io.BytesIO()
    Image.fromarray(CORNERS).save(file, "JPEG", exif=exif, quality=95)
    assert corners(decoded("data:image/jpeg;base64," + base64.b64encode(file.getvalue()).decode())) == TURNED[1]


def photo(mode: str, kind: str, **options: object) -> str:
    file = io.BytesIO()
    Image.fromarray(CORNERS).convert(mode).save(file, kind, **options)
    return "data:image/jpeg;base64," + base64.b64encode(file.getvalue()).decode()


@pytest.mark.parametrize(
    "url",
    [
        photo("CMYK", "JPEG", quality=95),
        photo("RGB", "JPEG", quality=95, progressive=True),
        photo("RGB", "MPO", quality=95, save_all=True, append_images=[flat(9)]),
        photo("P", "PNG"),
        photo("RGBA", "PNG"),
        photo("RGB", "PNG", save_all=True, append_images=[flat(9)]),
        photo("RGB", "WEBP", lossless=True, save_all=True, append_images=[Image.new("RGB", (32, 16))]),
    ],
    ids=["CMYK", "progressive", "MPO", "palette", "RGBA", "animated PNG", "animated WebP"],
)
def test_photos_of_other_kinds(url: str) -> None:
    assert corners(decoded(url)) == TURNED[1]


@pytest.mark.parametrize(
    ("mode", "kind", "options"), [("LA", "PNG", {}), ("RGBA", "WEBP", {}), ("P", "GIF", {"transparency": 0})]
)
def test_what_is_transparent_stands_on_white(mode: str, kind: str, options: dict[str, int]) -> None:
    file = io.BytesIO()
    Image.new(mode, (6, 4)).save(file, kind, **options)
    assert (decoded("data:image/png;base64," + base64.b64encode(file.getvalue()).decode()) == 255).all()


@pytest.mark.parametrize("where", [1, -1], ids=["before the pixels", "behind them"])
@pytest.mark.parametrize("kind", ["zTXt", "tEXt", "iTXt", "iCCP"])
def test_long_texts_and_profiles_of_a_png_are_passed_over(kind: str, where: int) -> None:
    long = b"a" * (3 << 20)
    data = {
        "tEXt": b"Comment\0" + long,
        "zTXt": b"Comment\0\0" + zlib.compress(long),
        "iTXt": b"Comment\0\1\0\0\0" + zlib.compress(long),
        "iCCP": b"Profile\0\0" + zlib.compress(long),
    }[kind]
    made = chunks_of(base64.b64decode(encoded("PNG")))
    made.insert(where, (kind.encode(), data))
    assert (decoded(png_of(made)) == np.asarray(flat(200))).all()


def test_a_short_text_may_say_how_a_png_is_turned() -> None:
    file = io.BytesIO()
    Image.fromarray(CORNERS).save(file, "PNG")
    xmp = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description tiff:Orientation="6"/></x:xmpmeta>'
    made = chunks_of(file.getvalue())
    made.insert(1, (b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + xmp))
    assert corners(decoded(png_of(made))) == TURNED[6]


def chunks_of(png: bytes) -> list[tuple[bytes, bytes]]:
    found, position = [], 8
    while position < len(png):
        size = int.from_bytes(png[position : position + 4], "big")
        found.append((png[position + 4 : position + 8], png[position + 8 : position + 8 + size]))
        position += 12 + size
    return found


def png_of(chunks: list[tuple[bytes, bytes]]) -> str:
    parts = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    ]
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode()


def test_why_a_picture_is_refused() -> None:
    jpeg = base64.b64decode(photo("RGB", "JPEG").partition(",")[2])
    bomb = [(b"IHDR", struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)), (b"IDAT", b""), (b"IEND", b"")]
    for url, message in [
        (
            "data:image/jpeg;base64," + base64.b64encode(jpeg[: len(jpeg) // 2]).decode(),
            "here is .*damaged.*: .*[tT]runcated",
        ),
        (
            "data:image/png;base64," + base64.b64encode(b"\0\0\0\x18ftypheic\0\0").decode(),
            "must be one of PNG, .*; got HEIC",
        ),
        (
            "data:image/png;base64," + base64.b64encode(b"\0\0\0\x18ftypavif\0\0").decode(),
            "must be one of PNG, .*; got AVIF",
        ),
        ("data:image/heic;base64,AAAA", "must be a data URL, data:image/png"),
        ("data:image/png;base64,%%%", "here must be base64"),
        (png_of(bomb), "here must have at most 1000 pixels; got more: .*3600000000 pixels"),
    ]:
        with pytest.raises(RequestError, match=message):
            decoded(url)


@pytest.mark.parametrize("head", ["data:image/bmp;base64,", "data:image/png,", "data:;base64,", "image/png;base64,"])
def test_other_heads(head: str) -> None:
    with pytest.raises(RequestError, match=r"^here must be a data URL"):
        decoded(head + encoded("PNG"))


def test_what_is_no_image_of_these_types() -> None:
    for url in ("data:image/png;base64," + encoded("BMP"), "data:image/gif;base64,R0lGODlhAAAA"):
        with pytest.raises(RequestError, match="here must be one of PNG, JPEG, WEBP, GIF"):
            decoded(url)
    with pytest.raises(RequestError, match="here must have at most .* pixels; got 400x10"):
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
