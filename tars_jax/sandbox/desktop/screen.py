"""Screen of a desktop: the pixels from Xvfb's frame buffer file, the mouse's cursor drawn upon them."""

from __future__ import annotations

import os
import struct

import numpy as np
from Xlib.ext import xfixes

from tars_jax.sandbox.desktop.connection import XConnection
from tars_jax.sandbox.failures import Broken

HEADER = struct.Struct(">20I")  # the start of an XWD file (XWDFile.h), version 7
MOST_PADDING, MOST_HEADER = 64, 1 << 16  # bytes of a row; bytes, and colors
XWD_VERSION, LEAST_SIGNIFICANT_FIRST = 7, 0


class FrameBuffer:
    """The file that Xvfb keeps its screen in (XWD with 32 bits a pixel).

    It is read and not mapped: programs of the inside could cut the file short, and a mapped page that is gone kills
    the process that reads it.
    """

    def __init__(self, file: int, expected: tuple[int, int]) -> None:
        """Takes the open file over. Raises Broken for one that is no such screen of the `expected` width and height:
        programs of the inside can write another header, and what is read from here must have bounds.
        """
        self._file = file
        header = os.pread(self._file, HEADER.size, 0)
        if len(header) < HEADER.size:
            os.close(self._file)
            raise Broken("the X server's frame buffer has no header")
        size, version, _, _, width, height, _, order, *_, bits, row, _, red, _, blue, _, _, colors = HEADER.unpack(
            header
        )
        if (version, order, bits, red, blue) != (XWD_VERSION, LEAST_SIGNIFICANT_FIRST, 32, 0xFF0000, 0xFF):
            os.close(self._file)
            raise Broken("the X server's frame buffer must be XWD of 32 bits a pixel, BGRX")
        least, most = 4 * width, 4 * width + MOST_PADDING
        if (width, height) != expected or not least <= row <= most or row % 4 or max(size, colors) > MOST_HEADER:
            os.close(self._file)
            raise Broken(f"the X server's frame buffer must be of {expected}; got {width, height}, {row} bytes a row")
        self.width, self.height, self._row = width, height, row
        self._offset = size + 12 * colors

    def frame(self) -> np.ndarray:
        """The screen as np.uint8 [H, W, 4], BGRX. Raises Broken for a file that was cut short."""
        data = np.empty(self._row * self.height, np.uint8)
        view, done = data.data, 0
        while done < len(view):
            got = os.preadv(self._file, [view[done:]], self._offset + done)
            if not got:
                raise Broken("the X server's frame buffer was cut short")
            done += got
        return data.reshape(self.height, -1, 4)[:, : self.width]

    def words(self) -> np.ndarray:
        """The frame as np.uint32 [H, W], to compare with another."""
        return self.frame().view(np.uint32)[..., 0]

    def close(self) -> None:
        os.close(self._file)


class Cursor:
    """The mouse's cursor. Its image is asked for again when the server says that it is another one."""

    def __init__(self, connection: XConnection) -> None:
        self._display, self._root = connection.display, connection.root
        self._display.xfixes_query_version()
        self._display.xfixes_select_cursor_input(self._root, xfixes.XFixesDisplayCursorNotifyMask)
        self._image: np.ndarray | None = None  # np.uint16 [h, w, 4]: BGRA, multiplied with its alpha
        self._hot = 0, 0
        self._at: tuple[int, int] | None = None  # where it is; None: it may have moved

    def changed(self) -> None:
        self._image = None

    def find(self) -> None:
        """Asks where it is, for the next picture that it is drawn on."""
        pointer = self._root.query_pointer()
        self._at = pointer.root_x, pointer.root_y

    def draw(self, frame: np.ndarray) -> None:
        """Draws the cursor upon np.uint8 [H, W, 4], BGRX."""
        if self._image is None:
            cursor = self._display.xfixes_get_cursor_image(self._root)
            self._hot = cursor.xhot, cursor.yhot
            words = np.array(cursor.cursor_image[: cursor.width * cursor.height], np.uint32).astype("<u4")
            self._image = words.view(np.uint8).reshape(cursor.height, cursor.width, 4).astype(np.uint16)
        if self._at is None:
            self.find()
        assert self._at is not None
        x, y = self._at[0] - self._hot[0], self._at[1] - self._hot[1]
        self._at = None
        top, left = max(-y, 0), max(-x, 0)
        under = frame[max(y, 0) : y + self._image.shape[0], max(x, 0) : x + self._image.shape[1], :3]
        over = self._image[top : top + under.shape[0], left : left + under.shape[1]]
        under[:] = over[..., :3] + under * (255 - over[..., 3:]) // 255
