"""Frames between the host and the guest: two lengths, a JSON object, and bytes that belong to it.

    4 bytes  length of the JSON, most significant byte first
    4 bytes  length of the bytes
    the JSON in ASCII, then the bytes

Names of files that are no UTF-8 travel as Python's surrogate escapes. A call is {"id", "call", ...arguments}, its
answer {"id", "ok": {...}} or {"id", "error": {"code", "message"}}. Answers come in any order.
"""

from __future__ import annotations

import json
import struct
from typing import Any

HEAD = struct.Struct("!II")
MOST_JSON = 8 << 20  # bytes
MOST_BYTES = 33 << 20  # what a program has written is the most (program_runs.py)
PIECE = 4 << 20  # what one call reads or writes of a file


class FrameError(Exception):
    """A frame that cannot be read: the connection must be closed."""


def pack(message: dict[str, Any], data: bytes | bytearray | memoryview = b"") -> bytes:
    """Raises FrameError for more than a frame may hold."""
    text = json.dumps(message, separators=(",", ":")).encode("ascii")
    if len(text) > MOST_JSON or len(data) > MOST_BYTES:
        raise FrameError(f"a frame must have {MOST_JSON} and {MOST_BYTES} bytes at most; got {len(text)}, {len(data)}")
    return b"".join((HEAD.pack(len(text), len(data)), text, data))


def unpack_head(head: bytes) -> tuple[int, int]:
    """Lengths of the JSON and of the bytes. Raises FrameError for more than may be."""
    text, data = HEAD.unpack(head)
    if text > MOST_JSON or data > MOST_BYTES:
        raise FrameError(f"a frame must have {MOST_JSON} and {MOST_BYTES} bytes at most; got {text}, {data}")
    return text, data


def parse(text: bytes) -> dict[str, Any]:
    """Raises ValueError for what is no JSON object."""
    try:
        message = json.loads(text)
    except RecursionError:
        raise ValueError("a call must be JSON of ordinary depth") from None
    if not isinstance(message, dict):
        raise ValueError(f"a call must be a JSON object; got {type(message).__name__}")
    return message


class FrameReader:
    """A stream of bytes, cut into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, chunk: bytes) -> list[tuple[bytes, bytes]]:
        """The frames that `chunk` completes: JSON and bytes. Raises FrameError."""
        self._buffer += chunk
        frames = []
        while len(self._buffer) >= HEAD.size:
            text, data = unpack_head(bytes(self._buffer[: HEAD.size]))
            whole = HEAD.size + text + data
            if len(self._buffer) < whole:
                break
            frames.append(
                (bytes(self._buffer[HEAD.size : HEAD.size + text]), bytes(self._buffer[whole - data : whole]))
            )
            del self._buffer[:whole]
        return frames

    def rest(self) -> bytes:
        """Bytes behind the last whole frame; the stream is then empty."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        return rest
