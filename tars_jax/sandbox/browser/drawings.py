"""SVG's own animations (SMIL): whether a site has any, and images that stand in the browser that such a page has.

Chromium has one setting for these and for images that move, which would do so on real time. So a page with SMIL gets a
browser to itself where both may move: clock/drawings.js moves its documents, and images are served still.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import functools
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from tars_jax.sandbox.browser.site import Site

SUFFIXES = (".html", ".htm", ".xhtml", ".svg", ".js", ".mjs", ".css")
MOST_FILES = 1000  # of a site that are looked at
MOST_BYTES = 4_000_000  # of each
_TAG = re.compile(rb"<(?:svg:)?(?:animate(?:Transform|Motion)?[\s/>]|set\s[^<>]*attributeName)", re.IGNORECASE)
_NAME = re.compile(rb"""(['"`])(?:svg:)?animate(Transform|Motion)?\1""")
_ELEMENTS = re.compile(rb"createElementNS|www\.w3\.org/2000/svg")
# An image in an address, written out or in base64.
_WRITTEN = re.compile(
    rb"data:image/svg\+xml(?![^,]{0,40}base64)[^,\"']{0,40},.{0,50000}?/svg(?:>|%3e)",
    re.IGNORECASE | re.DOTALL,
)
_ENCODED = re.compile(rb"(data:image/svg\+xml[^,\"']{0,40};base64,)([\w+/]+=*)", re.IGNORECASE)
_ANIMATION = re.compile(rb"(<|%3c)(/?(?:[\w-]+:)?)(animate(?:Color|Motion|Transform)?|set)(?=[\s/>%+])", re.IGNORECASE)


def has_smil(site: Site) -> bool:
    """Whether a document or a script of a site has or makes SMIL elements, as far as their text tells.

    A file is read once, and again when it has changed.
    """
    return any(_file_has_smil(file, status.st_mtime_ns, status.st_size) for file, status in _texts(site))


def _texts(site: Site) -> Iterator[tuple[str, os.stat_result]]:
    left = MOST_FILES
    for folder in (site.root, *(folder for _, folder in site.mounts)):
        for below, subfolders, names in os.walk(folder):
            subfolders.sort()
            for name in sorted(names):
                file = os.path.join(below, name)
                if name.lower().endswith(SUFFIXES) and os.path.isfile(file):
                    if left == 0:
                        return
                    left -= 1
                    yield file, os.stat(file)


@functools.lru_cache(maxsize=4 * MOST_FILES)
def _file_has_smil(file: str, changed_ns: int, size: int) -> bool:
    with open(file, "rb") as opened:
        text = opened.read(MOST_BYTES)
    if not (_TAG.search(text) or _NAME.search(text)):
        return False
    text = _WRITTEN.sub(b"", text)
    return bool(_TAG.search(text)) or any(found[2] or _ELEMENTS.search(text) for found in _NAME.finditer(text))


@dataclasses.dataclass(frozen=True)
class StillSite(Site):
    """A site whose images do not move."""

    def read(self, path: Path, destination: str) -> tuple[bytes, str]:
        body, kind = super().read(path, destination)
        if destination == "image":
            return still_image(body, kind)
        return (_without_moving_addresses(body) if kind.startswith("text/") else body), kind


def still(site: Site) -> Site:
    return StillSite(site.root, site.index, site.mounts)


def still_image(body: bytes, kind: str) -> tuple[bytes, str]:
    """An image that does not move, and its MIME type: of several frames the first, as PNG; SVG without SMIL."""
    if kind.startswith("image/svg"):
        return _without_smil(body), kind
    try:
        with Image.open(io.BytesIO(body)) as image:
            if getattr(image, "n_frames", 1) == 1:
                return body, kind
            png = io.BytesIO()
            image.convert("RGBA").save(png, "PNG")
    except (OSError, SyntaxError, ValueError):  # the browser makes of it what it can
        return body, kind
    return png.getvalue(), "image/png"


def _without_smil(image: bytes) -> bytes:
    return _ANIMATION.sub(rb"\1\2still-\3", image)


def _without_moving_addresses(text: bytes) -> bytes:
    if b"data:image/svg" not in text:
        return text

    def encoded(found: re.Match[bytes]) -> bytes:
        try:
            image = base64.b64decode(found[2], validate=True)
        except binascii.Error:
            return found[0]
        return found[1] + base64.b64encode(_without_smil(image))

    return _ENCODED.sub(encoded, _WRITTEN.sub(lambda found: _without_smil(found[0]), text))
