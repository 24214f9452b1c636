"""What happened to a store, in order: one line an event, which nothing changes afterwards.

    5f0a91c2 {"add": {"id": "3f09...", "task": ..., "cycle": 2, ...}}

A line begins with the CRC-32 of its JSON. Who appends holds the file's lock (flock), also from other processes; so the
order of lines is the order of events, and the index is nothing but what these lines come to.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tars_jax import InputError

FILE = "journal.jsonl"


class Line(NamedTuple):
    number: int
    start: int  # byte
    event: dict[str, Any] | None  # None: damaged
    text: bytes


class Journal:
    """The journal of a store's folder."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / FILE
        self._held = -1

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else appends meanwhile. What a killed writer left half written is cut off."""
        descriptor = os.open(self.file, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            self._cut_torn_line(descriptor)
            self._held = descriptor
            yield
        finally:
            self._held = -1
            os.close(descriptor)

    def append(self, events: Sequence[Mapping[str, Any]]) -> None:
        """On the disk when this returns, all or none. The lock must be held."""
        assert self._held >= 0, "locked()"
        lines = b"".join(encoded(event) for event in events)
        size = os.lseek(self._held, 0, os.SEEK_END)
        try:
            view = memoryview(lines)
            while view:
                view = view[os.write(self._held, view) :]
            os.fsync(self._held)
        except OSError:
            os.ftruncate(self._held, size)
            raise

    def size(self) -> int:
        return self.file.stat().st_size if self.file.exists() else 0

    def lines(self, start: int = 0) -> Iterator[Line]:
        """The whole lines from byte `start`, damaged ones among them; numbers count from there."""
        if not self.file.exists():
            return
        with open(self.file, "rb") as stream:
            stream.seek(start)
            place = start
            for number, text in enumerate(stream, 1):
                if not text.endswith(b"\n"):
                    return
                yield Line(number, place, decoded(text), text)
                place += len(text)

    def events(self, start: int = 0) -> Iterator[tuple[dict[str, Any], int]]:
        """Each event, and the byte after it. Raises InputError for a damaged line."""
        for line in self.lines(start):
            if line.event is None:
                raise InputError(
                    f"{self.file}: the line at byte {line.start} must be an event with its checksum; got "
                    f"{line.text[:40]!r}; ./launch/local.sh store --config.action=repair sets it aside"
                )
            yield line.event, line.start + len(line.text)

    def _cut_torn_line(self, descriptor: int) -> None:
        size = os.lseek(descriptor, 0, os.SEEK_END)
        if not size or os.pread(descriptor, 1, size - 1) == b"\n":
            return
        while size and os.pread(descriptor, 1, size - 1) != b"\n":
            step = min(size, 4096)
            block = os.pread(descriptor, step, size - step)
            size = size - step + block.rfind(b"\n") + 1 if b"\n" in block else size - step
        os.ftruncate(descriptor, size)


def encoded(event: Mapping[str, Any]) -> bytes:
    text = json.dumps(event, separators=(",", ":"), sort_keys=True).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def decoded(line: bytes) -> dict[str, Any] | None:
    checksum, _, text = line.rstrip(b"\n").partition(b" ")
    try:
        if int(checksum, 16) != zlib.crc32(text):
            return None
        event = json.loads(text)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None
