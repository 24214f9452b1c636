"""Images of recorded data as the PNG that a step has: files, data URLs, bytes. Nothing is fetched from anywhere."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.files import write_atomic
from tars_jax.pictures import plain_png


def read_image(given: Any, folder: Path, where: str) -> bytes:
    """The PNG of a path (from `folder`), a data URL, bytes, or Hugging Face's {"bytes", "path"}.

    Raises InputError that begins with `where` for what is none of these, is not there, or is damaged.
    """
    if isinstance(given, dict) and ("bytes" in given or "path" in given):
        given = given.get("bytes") or given.get("path")
    if isinstance(given, bytes):
        return plain_png(given, where)
    if not isinstance(given, str) or not given:
        raise InputError(f"{where} must be a file of an image, a data URL or bytes; got {given!r:.80}")
    if given.startswith("data:"):
        return plain_png(_of_data_url(given, where), where)
    if given.startswith(("http://", "https://")):
        raise InputError(f"{where} must be a file of an image or a data URL, as nothing is fetched; got {given:.80}")
    try:
        data = (folder / given.removeprefix("file://")).read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"{where} must be a file of an image; got {given:.200}: {error}") from error
    return plain_png(data, where)


def _of_data_url(url: str, where: str) -> bytes:
    head, comma, data = url.partition(",")
    try:
        if not comma or not head.endswith(";base64"):
            raise ValueError("it has no ;base64,")
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InputError(f"{where} must be a data URL in base64; got {url[:40]!r}: {error}") from error


class ImageFiles:
    """The images of an export, each once, in FOLDER/images. They are not flushed: `kept` are those that are to be."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "images"
        self._folder.mkdir(parents=True, exist_ok=True)
        self.kept: dict[Path, None] = {}

    def keep(self, png: bytes) -> Path:
        """Keeps an image and returns its file, by one operation on the folder: a busy disk takes longer for each than
        for its bytes. What is torn was left by an export that was killed, whose lines nobody has."""
        file = self._folder / f"{hashlib.sha256(png).hexdigest()[:32]}.png"
        if file in self.kept:
            return file
        self.kept[file] = None
        try:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            if file.stat().st_size != len(png):
                write_atomic(file, png)
            return file
        with open(descriptor, "wb") as opened:
            opened.write(png)
        return file
