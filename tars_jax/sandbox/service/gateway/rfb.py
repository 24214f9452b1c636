"""The server's side of the Remote Framebuffer protocol 3.8 (RFC 6143): messages as bytes, and bytes as messages.

What noVNC and its kin need of it: pictures as Tight or raw rectangles, keys, a pointer, and a clipboard in Unicode (the
protocol's community extensions: desktop name -307, extended clipboard 0xC0A1E5CE). Who comes by a WebSocket has shown
a token before, and is asked for no password.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hmac
import io
import secrets
import struct
import zlib
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import numpy as np
from PIL import Image

from tars_jax.sandbox.service.gateway.vnc import expected

VERSION = b"RFB 003.008\n"
BY_NOTHING, BY_PASSWORD = 1, 2  # kinds of security
RAW, TIGHT = 0, 7
DESKTOP_NAME, EXTENDED_CLIPBOARD = -307, 0xC0A1E5CE - (1 << 32)
QUALITY = 80  # of JPEG
# A rectangle of Tight is at most 2048 pixels wide, and what it is packed to fits 22 bits.
WIDEST, LARGEST_RECTANGLE = 2048, 1 << 20  # pixels
LONGEST_CUT = 1 << 20  # bytes of a clipboard
TEXT, CAPS, REQUEST, NOTIFY, PROVIDE = 1, 1 << 24, 1 << 25, 1 << 27, 1 << 28  # of the extended clipboard


class RfbError(Exception):
    """A client that does not keep to the protocol, or wants what there is not."""


@dataclasses.dataclass(frozen=True)
class PixelFormat:
    """32 bits, a whole byte for each color. `order`: the places of red, green, blue in the four bytes."""

    order: tuple[int, int, int] = (2, 1, 0)


@dataclasses.dataclass(frozen=True)
class Encodings:
    numbers: frozenset[int]


@dataclasses.dataclass(frozen=True)
class UpdateRequest:
    incremental: bool


@dataclasses.dataclass(frozen=True)
class Key:
    down: bool
    keysym: int


@dataclasses.dataclass(frozen=True)
class Pointer:
    buttons: int  # a mask: left, middle, right, wheel up, down, left, right
    x: int
    y: int


@dataclasses.dataclass(frozen=True)
class Cut:
    """The client's clipboard; None: it has something, which is to be asked for."""

    text: str | None


Message: TypeAlias = PixelFormat | Encodings | UpdateRequest | Key | Pointer | Cut | None


def server_init(width: int, height: int, name: str) -> bytes:
    """Behind the handshake: the size, 32 bits a pixel as BGRX, and the name."""
    pixels = struct.pack(">BBBBHHHBBB3x", 32, 24, 0, 1, 255, 255, 255, 16, 8, 0)
    return struct.pack(">HH", width, height) + pixels + _text(name)


async def read_handshake(
    reader: asyncio.StreamReader, send: Callable[[bytes], Awaitable[None]], password: str = ""
) -> None:
    """Up to where the server tells its size; with a password that the client must know.

    Raises RfbError, IncompleteReadError.
    """
    await send(VERSION)
    if await reader.readexactly(12) != VERSION:
        raise RfbError("the protocol must be RFB 3.8")
    kind = BY_PASSWORD if password else BY_NOTHING
    await send(bytes([1, kind]))  # one kind of security
    if (asked := (await reader.readexactly(1))[0]) != kind:
        raise RfbError(f"the kind of security must be {kind}; got {asked}")
    if password:
        challenge = secrets.token_bytes(16)
        await send(challenge)
        if not hmac.compare_digest(await reader.readexactly(16), expected(challenge, password)):
            await send(struct.pack(">I", 1) + _text("the password must be that of the session"))
            raise RfbError("the password must be that of the session; got another")
    await send(bytes(4))
    await reader.readexactly(1)  # everybody shares


async def read_message(reader: asyncio.StreamReader) -> Message:
    """The next message; None for one that means nothing here. Raises RfbError, IncompleteReadError."""
    kind = (await reader.readexactly(1))[0]
    if kind == 0:
        return _pixel_format(await reader.readexactly(19))
    if kind == 2:
        count = int.from_bytes((await reader.readexactly(3))[1:])
        return Encodings(frozenset(struct.unpack(f">{count}i", await reader.readexactly(4 * count))))
    if kind == 3:
        return UpdateRequest(bool((await reader.readexactly(9))[0]))
    if kind == 4:
        down, keysym = struct.unpack(">B2xI", await reader.readexactly(7))
        return Key(bool(down), keysym)
    if kind == 5:
        return Pointer(*struct.unpack(">BHH", await reader.readexactly(5)))
    if kind == 6:
        length = struct.unpack(">3xi", await reader.readexactly(7))[0]
        if abs(length) > LONGEST_CUT:
            raise RfbError(f"a clipboard must have at most {LONGEST_CUT} bytes")
        data = await reader.readexactly(abs(length))
        return Cut(data.decode("latin-1")) if length >= 0 else _extended_cut(data)
    raise RfbError(f"there is no message {kind}")


def _pixel_format(data: bytes) -> PixelFormat:
    bits, depth, big, true, red, green, blue, *shifts = struct.unpack(">3xBBBBHHHBBB3x", data)
    if bits != 32 or not true or (red, green, blue) != (255, 255, 255) or any(s not in (0, 8, 16, 24) for s in shifts):
        raise RfbError(f"pixels must have 32 bits, a byte for each color; got {bits} bits of depth {depth}")
    first, second, third = (3 - shift // 8 if big else shift // 8 for shift in shifts)
    return PixelFormat((first, second, third))


def _extended_cut(data: bytes) -> Cut | None:
    if len(data) < 4:
        raise RfbError("a clipboard must begin with its flags")
    flags = int.from_bytes(data[:4])
    if flags & NOTIFY and flags & TEXT:
        return Cut(None)
    if not flags & PROVIDE or not flags & TEXT:
        return None
    unpack = zlib.decompressobj()
    try:
        text = unpack.decompress(data[4:], LONGEST_CUT + 4)
    except zlib.error as error:
        raise RfbError(f"a clipboard must be packed by zlib: {error}") from error
    length = int.from_bytes(text[:4])
    return Cut(text[4 : 4 + length].rstrip(b"\0").decode(errors="replace").replace("\r\n", "\n"))


# ---- to the client ----


def clipboard_caps() -> bytes:
    """The server's capabilities with a clipboard in Unicode: it takes one, and gives one."""
    return _extended(CAPS | REQUEST | NOTIFY | PROVIDE | TEXT, LONGEST_CUT.to_bytes(4))


def clipboard_request() -> bytes:
    return _extended(REQUEST | TEXT, b"")


def clipboard_text(text: str) -> bytes:
    data = text.replace("\n", "\r\n").encode(errors="replace") + b"\0"
    return _extended(PROVIDE | TEXT, zlib.compress(len(data).to_bytes(4) + data))


def clipboard_latin(text: str) -> bytes:
    """A clipboard's text for clients without the extension."""
    return b"\x03\0\0\0" + len(text).to_bytes(4) + text.encode("latin-1", "replace")


def named(name: str) -> bytes:
    """An update without pixels: the desktop has another name."""
    return struct.pack(">BxH4Hi", 0, 1, 0, 0, 0, 0, DESKTOP_NAME) + _text(name)


def _extended(flags: int, data: bytes) -> bytes:
    return struct.pack(">B3xiI", 3, -4 - len(data), flags) + data


def _text(text: str) -> bytes:
    data = text.encode()
    return len(data).to_bytes(4) + data


class FramebufferEncoder:
    """Makes updates of pictures for one client: what has changed since the last one, and of that what it needs."""

    def __init__(self) -> None:
        self.format, self.tight = PixelFormat(), False
        self._shown: np.ndarray | None = None  # np.uint8 [H, W, 3], as the client has it
        self._rough = _Box(0, 0, 0, 0)  # where the client has JPEG
        self._zlib = zlib.compressobj(1)

    def update(self, pixels: np.ndarray, whole: bool) -> bytes | None:
        """None when there is nothing new. `whole`: the client has lost what it had.

        A large change goes as JPEG, and when the screen stands still behind it, again without loss.
        """
        pixels = np.ascontiguousarray(pixels)
        box = _Box(0, 0, pixels.shape[1], pixels.shape[0])
        if not whole and self._shown is not None and self._shown.shape == pixels.shape:
            box = _changed(self._shown, pixels)
        self._shown = pixels
        rough = self.tight and box.width * box.height > 1 << 16
        if rough:
            self._rough = self._rough.with_other(box)
        elif not box:
            box, self._rough = self._rough, _Box(0, 0, 0, 0)
        if not box:
            return None
        pieces = [self._rectangle(pixels, piece, rough=rough) for piece in box.split()]
        return struct.pack(">BxH", 0, len(pieces)) + b"".join(pieces)

    def _rectangle(self, pixels: np.ndarray, box: _Box, *, rough: bool) -> bytes:
        part = pixels[box.top : box.top + box.height, box.left : box.left + box.width]
        head = struct.pack(">4Hi", box.left, box.top, box.width, box.height, TIGHT if self.tight else RAW)
        if not self.tight:
            pixels_out = np.zeros((*part.shape[:2], 4), np.uint8)
            pixels_out[..., list(self.format.order)] = part
            return head + pixels_out.tobytes()
        if rough:
            buffer = io.BytesIO()
            Image.fromarray(part).save(buffer, "JPEG", quality=QUALITY)
            return head + b"\x90" + _compact(buffer.getvalue())
        data = part.tobytes()
        if len(data) < 12:  # so few are not packed
            return head + b"\0" + data
        return head + b"\0" + _compact(self._zlib.compress(data) + self._zlib.flush(zlib.Z_SYNC_FLUSH))


@dataclasses.dataclass(frozen=True)
class _Box:
    left: int
    top: int
    width: int
    height: int

    def __bool__(self) -> bool:
        return self.width > 0 and self.height > 0

    def with_other(self, other: _Box) -> _Box:
        """The smallest that holds both."""
        if not self or not other:
            return self or other
        left, top = min(self.left, other.left), min(self.top, other.top)
        right = max(self.left + self.width, other.left + other.width)
        return _Box(left, top, right - left, max(self.top + self.height, other.top + other.height) - top)

    def split(self) -> list[_Box]:
        """Pieces that a rectangle of Tight can be."""
        pieces = []
        for left in range(self.left, self.left + self.width, WIDEST):
            width = min(WIDEST, self.left + self.width - left)
            rows = LARGEST_RECTANGLE // width
            for top in range(self.top, self.top + self.height, rows):
                pieces.append(_Box(left, top, width, min(rows, self.top + self.height - top)))
        return pieces


def _changed(before: np.ndarray, after: np.ndarray) -> _Box:
    """The smallest box around all pixels that differ; both np.uint8 [H, W, 3]."""
    differs = before.reshape(len(before), -1) != after.reshape(len(after), -1)
    rows = np.flatnonzero(differs.any(1))
    if not len(rows):
        return _Box(0, 0, 0, 0)
    columns = np.flatnonzero(differs[rows[0] : rows[-1] + 1].any(0)) // 3
    return _Box(int(columns[0]), int(rows[0]), int(columns[-1] - columns[0]) + 1, int(rows[-1] - rows[0]) + 1)


def _compact(data: bytes) -> bytes:
    """With its length in front, seven bits a byte, as Tight writes it."""
    size = len(data)
    if size < 1 << 7:
        return bytes([size]) + data
    if size < 1 << 14:
        return bytes([size & 127 | 128, size >> 7]) + data
    return bytes([size & 127 | 128, size >> 7 & 127 | 128, size >> 14]) + data
