"""What happened to a store, in order: one line an event, which nothing changes afterwards.

    5f0a91c2 {"add": {"id": "3f09...", "task": ..., "cycle": 2, ...}}

A line begins with the CRC-32 of its JSON. Who appends holds the file's lock (flock), also from other processes; so the
order of lines is the order of events, and the index is nothing but what these lines come to. `replace` alone writes it
anew: whole beside it first, so that who finds a replacement that was cut off finishes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tars_jax import InputError
from tars_jax.data.store.events import Event, checked
from tars_jax.files import write_atomic
from tars_jax.launcher import LAUNCHER
from tars_jax.trajectory.files import NewerFormat

FILE = "journal.jsonl"
NEXT = "journal.next"  # all lines of a replacement that is under way


class Line(NamedTuple):
    number: int
    start: int  # byte
    event: dict[str, Any] | None  # None: damaged
    text: bytes

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class Journal:
    """The journal of a store's folder."""

    def __init__(self, folder: Path) -> None:
        self.file, self.next = folder / FILE, folder / NEXT
        self._held = -1

    @property
    def is_writable(self) -> bool:
        """Whether this process may change the store: nobody may below a mount that can only be read."""
        return os.access(self.file.parent, os.W_OK) and (not self.file.exists() or os.access(self.file, os.W_OK))

    @contextlib.contextmanager
    def locked(self, *, mending: bool = True) -> Iterator[None]:
        """Nobody else appends meanwhile. What a killed writer left half written is cut off, or finished, unless it is
        only to be looked at.

        Raises InputError where the store can only be read.
        """
        try:
            descriptor = os.open(self.file, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise InputError(f"{self.file.parent} must be a store that can be written; got {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            self._held = descriptor
            if mending:
                if self.next.exists():
                    self._finish_replacing()
                self._cut_torn_line(descriptor)
            yield
        finally:
            self._held = -1
            os.close(descriptor)

    def append(self, events: Sequence[Event]) -> None:
        """On the disk when this returns, all or none. The lock must be held. Raises InputError for what is no event."""
        assert self._held >= 0, "locked()"
        lines = b"".join(encoded(checked(event, str(self.file))) for event in events)
        size = os.lseek(self._held, 0, os.SEEK_END)
        try:
            view = memoryview(lines)
            while view:
                view = view[os.write(self._held, view) :]
            os.fsync(self._held)
        except OSError:
            os.ftruncate(self._held, size)
            raise

    def replace(self, lines: Iterable[bytes]) -> None:
        """These whole lines are all of the journal. The lock must be held.

        In place, as whoever waits for the lock waits for this very file.
        """
        assert self._held >= 0, "locked()"
        write_atomic(self.next, b"".join(lines))
        self._finish_replacing()

    def _finish_replacing(self) -> None:
        content = memoryview(self.next.read_bytes())
        place = 0
        while place < len(content):
            place += os.pwrite(self._held, content[place:], place)
        os.ftruncate(self._held, len(content))
        os.fsync(self._held)
        self.next.unlink()

    def size(self) -> int:
        return self.file.stat().st_size if self.file.exists() else 0

    def lines(self, start: int = 0) -> Iterator[Line]:
        """The whole lines from byte `start`, damaged ones among them; numbers count from there."""
        if not self.file.exists():
            return
        try:
            with open(self.file, "rb") as stream:
                stream.seek(start)
                place = start
                for number, text in enumerate(stream, 1):
                    if not text.endswith(b"\n"):
                        return
                    yield Line(number, place, decoded(text), text)
                    place += len(text)
        except OSError as error:
            raise InputError(f"{self.file} must be a journal that can be read; got {error.strerror}") from error

    def events(self, start: int = 0) -> Iterator[tuple[Event, int]]:
        """Each event, and the byte after it. Raises InputError for a damaged line, NewerFormat for one of a newer
        version."""
        for line in self.lines(start):
            if line.event is None:
                raise InputError(
                    f"{self.file}: the line at byte {line.start} must be an event with its checksum; got "
                    f"{line.text[:40]!r}; {LAUNCHER} store --config.action=repair sets it aside"
                )
            try:
                yield checked(line.event, f"{self.file}, byte {line.start}"), line.end
            except NewerFormat:
                raise
            except InputError as error:
                advice = f"{LAUNCHER} store --config.action=repair sets the line aside"
                raise InputError(f"{error}; {advice}") from error

    def _cut_torn_line(self, descriptor: int) -> None:
        size = os.lseek(descriptor, 0, os.SEEK_END)
        if not size or os.pread(descriptor, 1, size - 1) == b"\n":
            return
        while size and os.pread(descriptor, 1, size - 1) != b"\n":
            step = min(size, 4096)
            block = os.pread(descriptor, step, size - step)
            size = size - step + block.rfind(b"\n") + 1 if b"\n" in block else size - step
        os.ftruncate(descriptor, size)


def encoded(event: Event) -> bytes:
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
