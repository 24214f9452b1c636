"""Site of a sandboxed page: files below one folder, at http://sandbox.invalid/, and how it is to be opened."""

from __future__ import annotations

import dataclasses
import mimetypes
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tars_jax.sandbox.browser.clock import ORIGIN

MAX_SIDE = 8192  # of a viewport, pixels
RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")
TYPES = {
    ".js": "text/javascript", ".mjs": "text/javascript", ".html": "text/html", ".css": "text/css",
    ".json": "application/json", ".svg": "image/svg+xml", ".wasm": "application/wasm", ".woff2": "font/woff2",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Site:
    """Folders of static files that one page may read, and the file that it opens first."""

    root: Path
    index: str = "index.html"  # below root; may carry a query
    mounts: tuple[tuple[str, Path], ...] = ()  # (first part of a path, the folder that the rest of it is below)

    @property
    def url(self) -> str:
        return f"{ORIGIN}/{self.index}"

    def find(self, url: str) -> Path | None:
        """The file that `url` names; None when there is none, or the url leads out of its folder or of the origin."""
        parts = urlsplit(url)
        if f"{parts.scheme}://{parts.netloc}" != ORIGIN:
            return None
        name = unquote(parts.path).replace("\0", "").lstrip("/")
        first, _, rest = name.partition("/")
        mounts = dict(self.mounts)
        root = Path(mounts.get(first, self.root)).resolve()
        path = (root / (rest if first in mounts else name)).resolve()
        return path if path.is_relative_to(root) and os.path.isfile(path) else None  # False for too long a name

    def read(self, path: Path, destination: str) -> tuple[bytes, str]:
        """A file's bytes and MIME type, as they are served to what Playwright calls the resource type of a request."""
        return path.read_bytes(), content_type(path)


@dataclasses.dataclass(frozen=True)
class PageSpec:
    """All that a page is told when it is opened."""

    site: Site
    width: int  # of the viewport, CSS pixels at device scale 1
    height: int
    single_canvas: bool = False  # it promises one opaque canvas over the whole viewport, so it may be read back
    network: tuple[str, ...] = ()  # hosts that it may reach beside its site (network.py)
    storage: Mapping[str, Any] | None = None  # cookies and local storage, as Playwright writes them
    at: str | None = None  # the address that it shows first; None: the site's index
    clock: Mapping[str, float] | None = None  # state of its clock when that loads; None: at 0
    accepts_dialogs: bool = False  # alert, confirm, leaving the page: yes; a prompt gets its default


def part_of(body: bytes, asked: str | None) -> tuple[int, bytes, dict[str, str]]:
    """(status, bytes, headers) of an answer to a request with this Range header: media are sought by it (RFC 9110, 14).

    What asks for several ranges, or in another unit, is given the whole.
    """
    match = RANGE.fullmatch(asked or "")
    if match is None or match.groups() == ("", ""):
        return 200, body, {"Accept-Ranges": "bytes"}
    first, last = match.groups()
    start = int(first) if first else max(0, len(body) - int(last))
    stop = min(len(body), int(last) + 1) if first and last else len(body)
    if first and last and int(last) < start:
        return 200, body, {"Accept-Ranges": "bytes"}
    if start >= len(body):
        return 416, b"", {"Content-Range": f"bytes */{len(body)}"}
    return 206, body[start:stop], {"Accept-Ranges": "bytes", "Content-Range": f"bytes {start}-{stop - 1}/{len(body)}"}


def content_type(path: Path) -> str:
    """The MIME type of a served file, the same on every machine for the types that pages are made of."""
    known = TYPES.get(path.suffix.lower()) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return f"{known}; charset=utf-8" if known.startswith("text/") else known
