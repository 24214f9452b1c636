"""PNGs of a screen that changes little from one picture to the next: what stays as it was is compressed once.

The rows of a picture are compressed in bands, none of which refers to another (RFC 1951: blocks, each of which begins
at a byte after a full flush; RFC 1950: one checksum over all). So the bytes of a band depend on its pixels alone.
"""

from __future__ import annotations

import struct
import threading
import zlib

import numpy as np

ROWS = 16  # of a band
LEVEL = 1  # of zlib; higher ones take more time than they save
_SIGNATURE, _ZLIB, _LAST = b"\x89PNG\r\n\x1a\n", b"\x78\x01", b"\x03\x00"  # _LAST: an empty block that ends a stream
_MODULUS = 65521  # of Adler-32


class PngEncoder:
    """An encoder for pictures of one size. Calls may come from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: np.ndarray | None = None  # the picture that the bands below show
        self._bands: list[tuple[bytes, int, int]] = []  # chunk, checksum and length of what is compressed in it

    def encode(self, frame: np.ndarray) -> bytes:
        """The PNG of np.uint8 [H, W, 4], BGRX, without loss. Keeps the frame, which may not change afterwards."""
        with self._lock:
            height, width = frame.shape[:2]
            if self._last is None or self._last.shape != frame.shape:
                changed = range(-(-height // ROWS))
                self._bands = [(b"", 1, 0)] * len(changed)
            else:
                differs = (_words(frame) != _words(self._last)).any(1)
                changed = np.unique(np.flatnonzero(differs) // ROWS).tolist()
            for band in changed:
                self._bands[band] = _compressed(frame[band * ROWS : (band + 1) * ROWS])
            self._last = frame
            checksum = 1
            for _, each, length in self._bands:
                checksum = _joined(checksum, each, length)
            header = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)  # 8 bits, RGB
            end = _chunk(b"IDAT", _LAST + struct.pack(">I", checksum)) + _chunk(b"IEND", b"")
            start = _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", _ZLIB)
            return b"".join((start, *(chunk for chunk, _, _ in self._bands), end))


def _words(frame: np.ndarray) -> np.ndarray:
    """Pixels as words, np.uint32 [H, W]."""
    return frame.view(np.uint32)[..., 0]


def _compressed(band: np.ndarray) -> tuple[bytes, int, int]:
    rows, width = band.shape[:2]
    lines = np.zeros((rows, 1 + 3 * width), np.uint8)  # each begins with its filter, none
    for color in range(3):
        lines[:, 1 + color :: 3] = band[..., 2 - color]
    compress = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    data = compress.compress(lines.data) + compress.flush(zlib.Z_FULL_FLUSH)
    return _chunk(b"IDAT", data), zlib.adler32(lines.data), lines.size


def _chunk(kind: bytes, data: bytes) -> bytes:
    return b"".join((struct.pack(">I", len(data)), kind, data, struct.pack(">I", zlib.crc32(data, zlib.crc32(kind)))))


def _joined(one: int, other: int, length: int) -> int:
    """The Adler-32 of two parts, the second of so many bytes: low half 1 + their sum, high half the sum of low ones."""
    low = (one & 0xFFFF) + (other & 0xFFFF) - 1
    high = (one >> 16) + (other >> 16) + length * ((one & 0xFFFF) - 1)
    return high % _MODULUS << 16 | low % _MODULUS
