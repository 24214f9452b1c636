"""What a desktop shows: the pixels from Xvfb's frame buffer file, the mouse's cursor drawn upon them."""

from __future__ import annotations

import functools
import io
import os
import struct

import numpy as np
from PIL import Image
from Xlib.ext import xfixes

from tars_jax.sandbox.browser.failures import SandboxFailure
from tars_jax.sandbox.desktop.connection import Connection

HEADER = struct.Struct(">20I")  # the start of an XWD file (XWDFile.h), version 7
XWD_VERSION, LEAST_SIGNIFICANT_FIRST = 7, 0


class Screenshot:
    """One picture of a screen. Encoded when a PNG is asked for, as pixels are what most callers take."""

    def __init__(self, image: Image.Image) -> None:
        self._image = image

    @property
    def size(self) -> tuple[int, int]:
        """(width, height)."""
        return self._image.size

    @functools.cached_property
    def pixels(self) -> np.ndarray:
        """np.uint8 [H, W, 3]; not writable."""
        pixels = np.asarray(self._image)
        pixels.flags.writeable = False
        return pixels

    @functools.cached_property
    def png(self) -> bytes:
        buffer = io.BytesIO()
        self._image.save(buffer, "PNG", compress_level=1)
        return buffer.getvalue()


class FrameBuffer:
    """The file that Xvfb keeps its screen in (XWD with 32 bits a pixel).

    It is read and not mapped: programs of the inside could cut the file short, and a mapped page that is gone kills
    the process that reads it.
    """

    def __init__(self, file: int) -> None:
        """Takes the open file over. Raises SandboxFailure for one that is no such screen."""
        self._file = file
        header = os.pread(self._file, HEADER.size, 0)
        if len(header) < HEADER.size:
            raise SandboxFailure("desktop", "the X server's frame buffer has no header")
        size, version, _, _, width, height, _, order, *_, bits, row, _, red, _, blue, _, _, colors = HEADER.unpack(
            header
        )
        if (version, order, bits, red, blue) != (XWD_VERSION, LEAST_SIGNIFICANT_FIRST, 32, 0xFF0000, 0xFF):
            os.close(self._file)
            raise SandboxFailure("desktop", "the X server's frame buffer must be XWD of 32 bits a pixel, BGRX")
        self.width, self.height, self._row = width, height, row
        self._offset = size + 12 * colors
        self._data = bytearray(row * height)

    def read(self) -> bytearray:
        """The rows of the screen, BGRX, `stride` bytes each; the same buffer each time."""
        view, done = memoryview(self._data), 0
        while done < len(view):
            got = os.preadv(self._file, [view[done:]], self._offset + done)
            if not got:
                raise SandboxFailure("desktop", "the X server's frame buffer was cut short")
            done += got
        return self._data

    def image(self) -> Image.Image:
        return Image.frombuffer("RGB", (self.width, self.height), self.read(), "raw", "BGRX", self._row, 1)

    def words(self) -> np.ndarray:
        """A copy as np.uint32 [H, W], to compare with another."""
        return np.frombuffer(self.read(), np.uint32).reshape(self.height, -1)[:, : self.width].copy()

    def close(self) -> None:
        os.close(self._file)


class Cursor:
    """The mouse's cursor. Its image is asked for again when the server says that it is another one."""

    def __init__(self, connection: Connection) -> None:
        self._display, self._root = connection.display, connection.root
        self._display.xfixes_query_version()
        self._display.xfixes_select_cursor_input(self._root, xfixes.XFixesDisplayCursorNotifyMask)
        self._image: Image.Image | None = None
        self._hot = 0, 0

    def changed(self) -> None:
        self._image = None

    def draw(self, image: Image.Image) -> None:
        if self._image is None:
            cursor = self._display.xfixes_get_cursor_image(self._root)
            self._hot = cursor.xhot, cursor.yhot
            size = cursor.width, cursor.height
            count = cursor.width * cursor.height
            data = np.array(cursor.cursor_image[:count], np.uint32).astype("<u4").tobytes()  # BGRA, premultiplied
            self._image = Image.frombytes("RGBa", size, _swapped(data)).convert("RGBA")
        pointer = self._root.query_pointer()
        image.paste(self._image, (pointer.root_x - self._hot[0], pointer.root_y - self._hot[1]), self._image)


def _swapped(bgra: bytes) -> bytes:
    """The same pixels as RGBA."""
    return np.frombuffer(bgra, np.uint8).reshape(-1, 4)[:, [2, 1, 0, 3]].tobytes()
