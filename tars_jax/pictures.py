"""One reader of pictures for all: whoever looks at one sees the same pixels, in whatever file it came.

Upright as its EXIF says, opaque on white, 8 bits a channel, and without a file's texts and color profiles, of which
Pillow refuses long or damaged ones and which change no pixel (as for `transformers` and vLLM).
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable

import numpy as np
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from tars_jax import InputError

SIGNATURE = b"\x89PNG\r\n\x1a\n"
PIXELS = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND", b"eXIf", b"acTL", b"fcTL", b"fdAT")  # and how they are turned
TEXTS = (b"tEXt", b"zTXt", b"iTXt", b"iCCP")
ORIENTATIONS = (b"XML:com.adobe.xmp\0", b"Raw profile type exif\0")  # those that may say how it is turned
MOST = 1 << 16  # bytes of such a one; none that tells little more than an orientation is so long
_OPAQUE = ("1", "L", "P", "RGB")  # modes that everybody reads alike, where nothing in them is transparent


def opened(content: bytes, formats: tuple[str, ...] | None = None) -> Image.Image:
    """The picture with its size known and nothing unpacked. Raises what Pillow does for what is none."""
    return Image.open(io.BytesIO(_essential(content)), formats=formats)


def read_picture(content: bytes, where: str = "a picture") -> Image.Image:
    """As it is to be looked at, in RGB. Raises InputError that begins with `where` for what is damaged or none."""
    try:
        image = opened(content)
        image.load()
        return as_seen(image)
    except Exception as error:  # Pillow's decoders raise what they like
        raise InputError(f"{where} must be an image; got {len(content)} bytes: {_why(error)}") from error


def _why(error: Exception) -> str:
    """Pillow names the object that it was handed, which tells nobody anything."""
    return "of no format that is known" if isinstance(error, UnidentifiedImageError) else str(error)


def pixels_of(content: bytes, where: str = "a picture") -> np.ndarray:
    """uint8 [height, width, 3]. Raises InputError as `read_picture`."""
    return np.asarray(read_picture(content, where))


def size_of(content: bytes, where: str = "a picture") -> tuple[int, int]:
    """Height and width, as it is seen, by what the file says of itself. Raises InputError for what is no picture."""
    if content.startswith(SIGNATURE) and not any(turned in content for turned in (b"eXIf", *ORIENTATIONS)):
        with contextlib.suppress(Exception), opened(content) as image:  # nothing need be unpacked
            return image.height, image.width
    image = read_picture(content, where)
    return image.height, image.width


def plain_png(content: bytes, where: str = "a picture") -> bytes:
    """The PNG that every reader sees alike; one that is it already stays as it is. Raises InputError as
    `read_picture`."""
    try:
        with opened(content) as image:
            image.load()
            if image.format == "PNG" and _is_plain(image) and without_texts(content) == content:
                return content
            png = io.BytesIO()
            as_seen(image).save(png, "PNG", compress_level=1)
            return png.getvalue()
    except Exception as error:  # as above
        raise InputError(f"{where} must be an image; got {len(content)} bytes: {_why(error)}") from error


def as_seen(image: Image.Image) -> Image.Image:
    """An open image in RGB, of any mode."""
    turned = upright(image)
    return opaque(_of_bytes(turned) if turned.mode.startswith("I") else turned)


def upright(image: Image.Image) -> Image.Image:
    """An image as it is to be looked at: turned and mirrored as its EXIF orientation says (also a PNG's and a WebP's).

    One whose EXIF is damaged stands as it is; the picture is not.
    """
    with contextlib.suppress(Exception):  # of Pillow's readers of EXIF and XMP, which raise what they like
        if image.getexif().get(ExifTags.Base.Orientation, 1) != 1:  # else it would be copied
            return ImageOps.exif_transpose(image)
    return image


def opaque(image: Image.Image) -> Image.Image:
    """An image of any mode in RGB; what is transparent stands on white."""
    if _has_transparency(image):
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image if image.mode == "RGB" else image.convert("RGB")


def _has_transparency(image: Image.Image) -> bool:
    return "A" in image.getbands() or "a" in image.getbands() or "transparency" in image.info


def _is_plain(image: Image.Image) -> bool:
    return image.mode in _OPAQUE and not _has_transparency(image) and upright(image) is image


def _of_bytes(image: Image.Image) -> Image.Image:
    """A grayscale image of 16 bits with the upper 8 of each, as Pillow reads all others of 16 bits; this one it would
    cut off at 255, which is white."""
    wide = np.asarray(image)
    gray = Image.fromarray((wide >> 8).astype(np.uint8))
    if (clear := image.info.get("transparency")) is not None:  # the one value that is
        gray.putalpha(Image.fromarray(np.where(wide == clear, 0, 255).astype(np.uint8)))
    return gray


def without_texts(content: bytes) -> bytes:
    """The same file, but for texts and profiles of a PNG; what is none, or is damaged, comes back as it is."""
    return _kept(content, lambda kind: kind not in TEXTS)


def _essential(content: bytes) -> bytes:
    """A PNG of what makes its pixels alone: Pillow refuses one for a wrong checksum of anything else."""
    return _kept(content, PIXELS.__contains__)


def _kept(content: bytes, keep: Callable[[bytes], bool]) -> bytes:
    if not content.startswith(SIGNATURE):
        return content
    kept, begin, position = [], 0, len(SIGNATURE)
    while position + 12 <= len(content):
        size = int.from_bytes(content[position : position + 4])
        end, kind = position + 12 + size, content[position + 4 : position + 8]
        turns = kind in TEXTS and size <= MOST and content.startswith(ORIENTATIONS, position + 8)
        if not (keep(kind) or turns):
            kept.append(content[begin:position])
            begin = end
        position = end
    return b"".join([*kept, content[begin:]]) if kept else content
