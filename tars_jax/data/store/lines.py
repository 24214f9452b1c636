"""The lines of a journal as bytes: an event, its place among the others, and a checksum of both."""

from __future__ import annotations

import json
import re
import zlib
from typing import Any, NamedTuple

from tars_jax.data.store.events import Event

_NUMBER, _AFTER = b"line", b"after"
_LINK = re.compile(rb',"line":[0-9]+,"after":"([^"]*)"}\n$')


class WrittenLine(NamedTuple):
    """Contents of a journal's line."""

    event: dict[str, Any] | None  # None: damaged
    number: int | None  # from 1; None: damaged, or of an earlier version, which did not number
    after: str  # checksum of the line before
    checksum: str  # its own


def encoded(event: Event, number: int | None = None, after: str = "") -> bytes:
    """A version that does not know numbers takes the line for one of a newer version, and leaves it alone."""
    text = json.dumps(event, separators=(",", ":"), sort_keys=True).encode()
    if number is not None:
        text = b'%s,"%s":%d,"%s":"%s"}' % (text[:-1], _NUMBER, number, _AFTER, after.encode())
    return b"%08x %s\n" % (zlib.crc32(text), text)


def decoded(line: bytes) -> WrittenLine:
    checksum, _, text = line.rstrip(b"\n").partition(b" ")
    own = checksum_of(line)
    damaged = WrittenLine(None, None, "", own)
    try:
        if int(checksum, 16) != zlib.crc32(text):
            return damaged
        event = json.loads(text)
    except (ValueError, RecursionError):
        return damaged
    if not isinstance(event, dict):
        return damaged
    number, after = event.pop(_NUMBER.decode(), None), event.pop(_AFTER.decode(), "")
    return WrittenLine(event, number if type(number) is int else None, after, own)


def is_whole(line: bytes) -> bool:
    """Whether it has the checksum of its text; nothing is read of that."""
    return line[:9] == b"%08x " % zlib.crc32(line[9:-1])


def link_of(line: bytes) -> bytes:
    """The checksum of the line before, as a numbered line ends with it; empty: it has no number."""
    return found[1] if (found := _LINK.search(line)) else b""


def checksum_of(line: bytes) -> str:
    """The checksum that a line states."""
    return line.partition(b" ")[0].decode(errors="replace")
