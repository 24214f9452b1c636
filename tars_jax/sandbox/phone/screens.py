"""Screenshots as Android's `screencap -p` gives them, and when two of them show the same."""

from __future__ import annotations

import io

from PIL import Image, ImageChops

from tars_jax import InputError

SIGNATURE = b"\x89PNG\r\n\x1a\n"
NOISE = 8  # of 255, by which a pixel may change and be the same
SAME = 0.001  # part of all pixels: a cursor that blinks, a clock that goes on
MOST_PIXELS = 64 << 20


def read_png(raw: bytes) -> Image.Image:
    """An RGB image; raises InputError for what is not a whole PNG.

    What stands in front of it is skipped (warnings on phones with several displays), and the line ends that old
    Androids put into it are taken out.
    """
    if raw.startswith(b"\x89PNG\r\r\n"):
        raw = raw.replace(b"\r\n", b"\n")
    start = raw.find(SIGNATURE)
    if start < 0:
        raise InputError(f"a screenshot must be a PNG; got {raw[:60]!r}")
    try:
        image = Image.open(io.BytesIO(raw[start:]))
        if image.width * image.height > MOST_PIXELS:
            raise InputError(f"a screenshot must have at most {MOST_PIXELS} pixels; got {image.size}")
        return image.convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"a screenshot must be a whole PNG; got {len(raw)} bytes: {error}") from error


def same(one: Image.Image, other: Image.Image) -> bool:
    """Whether two screenshots differ in no more than a cursor or a clock."""
    if one.size != other.size:
        return False
    changed = ImageChops.difference(one, other).convert("L").histogram()[NOISE + 1 :]
    return sum(changed) <= SAME * one.width * one.height
