"""Journal of a store: its events in order, one a line, which nothing changes afterwards.

    5f0a91c2 {"add": {"id": "3f09...", "task": ..., "cycle": 2, ...}, "line": 17, "after": "a80b33c1"}

A line begins with the CRC-32 of its JSON, which holds the line's number and the CRC-32 of the line before, so no line
can be lost between others without a gap. How far the lines go stands in the head beside them (`head.py`), so none can
be lost at the end. Lines of earlier versions have no number. Who appends holds the file's lock (flock), also from other
processes; so the order of lines is the order of events, and the index is nothing but what these lines come to.
`replace` alone writes it anew: whole beside it first, so that who finds a replacement that was cut off finishes it.
"""

from __future__ import annotations

import collections
import contextlib
import fcntl
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tars_jax import InputError
from tars_jax.data.store.events import Event, checked_event
from tars_jax.data.store.head import FILE as HEAD
from tars_jax.data.store.head import NOTHING, JournalEnd, decoded_end, read_head
from tars_jax.data.store.lines import WrittenLine, checksum_of, decoded, is_whole, link_of
from tars_jax.files import write_atomic
from tars_jax.launcher import LAUNCHER
from tars_jax.trajectory.files import NewerFormat

FILE = "journal.jsonl"
NEXT = "journal.next"  # all lines of a replacement that is under way, and as its last one their head
INDEX = "index.sqlite"
ADVICE = (
    "./launch/local.sh store --config.action=check says what is lost, and --config.action=repair takes back what is "
    "still known"
)
_BLOCK = 1 << 16
_CUT_REPLACEMENT = f"{NEXT}, by which a repair was replacing it, is damaged"


class JournalLine(NamedTuple):
    number: int  # of the line in what was read
    start: int  # byte
    event: Event | None  # None: damaged
    text: bytes
    missing: str = ""  # what must stand before it and does not

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class StoreJournal:
    """The journal of a store's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file, self.next, self.head = folder, folder / FILE, folder / NEXT, folder / HEAD
        self._held = -1

    @property
    def is_writable(self) -> bool:
        """Whether this process may change the store: nobody may below a mount that can only be read."""
        return os.access(self.folder, os.W_OK) and (not self.file.exists() or os.access(self.file, os.W_OK))

    @contextlib.contextmanager
    def locked(self, *, mending: bool = True) -> Iterator[None]:
        """Holds the lock of the journal: nobody else appends meanwhile. What a killed writer left half written is cut
        off, or finished, unless it is only to be looked at.

        Raises InputError where the store can only be read, and where lines are lost, which stay as they are.
        """
        try:
            descriptor = os.open(self.file, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise InputError(f"{self.folder} must be a store that can be written; got {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            self._held = descriptor
            if mending:
                self.finish()
                self.require_whole()
                os.ftruncate(descriptor, self.whole_size())
            yield
        finally:
            self._held = -1
            os.close(descriptor)

    def append(self, events: Sequence[Event]) -> None:
        """Appends events: all or none are on the disk when this returns. The lock must be held. Raises InputError for
        what is no event."""
        assert self._held >= 0, "locked()"
        end = before = self.follow()
        if not events:
            return
        lines = []
        for event in events:
            line, end = end.with_new(checked_event(event, str(self.file)))
            lines.append(line)
        try:
            view = memoryview(b"".join(lines))
            os.lseek(self._held, 0, os.SEEK_END)
            while view:
                view = view[os.write(self._held, view) :]
            os.fsync(self._held)
        except OSError:
            os.ftruncate(self._held, before.size)
            raise
        with contextlib.suppress(OSError):  # a full disk: it follows, as after a kill
            write_atomic(self.head, end.to_bytes())

    def follow(self) -> JournalEnd:
        """The head says how far the lines go: a killed writer may have left it behind them. The lock must be held."""
        assert self._held >= 0, "locked()"
        end = self.end_at(self.size())
        if read_head(self.head) != end:
            write_atomic(self.head, end.to_bytes())
        return end

    def replace(self, events: Iterable[Event]) -> None:
        """Replaces the journal by these events; nothing that was made of it before is left. The lock must be held.

        In place, as whoever waits for the lock waits for this very file.
        """
        assert self._held >= 0, "locked()"
        lines, end = [], NOTHING
        for event in events:
            line, end = end.with_new(event)
            lines.append(line)
        write_atomic(self.next, b"".join([*lines, end.to_bytes()]))
        self._finish_replacing()

    def finish(self) -> None:
        """A replacement that was cut off is finished. The lock must be held."""
        if self.next.exists():
            self._finish_replacing()

    def replacement(self) -> bytes | None:
        """The lines of one that was cut off; None where it is not whole, or there is none."""
        try:
            *lines, last = self.next.read_bytes().splitlines(keepends=True)
        except (OSError, ValueError):
            return None
        content = b"".join(lines)
        checksum = checksum_of(lines[-1]) if lines else NOTHING.checksum
        return content if decoded_end(last) == JournalEnd(len(content), len(lines), checksum) else None

    def _finish_replacing(self) -> None:
        found = self.replacement()
        if found is None:
            raise self.lost(_CUT_REPLACEMENT)
        content = memoryview(found)
        place = 0
        while place < len(content):
            place += os.pwrite(self._held, content[place:], place)
        os.ftruncate(self._held, len(content))
        os.fsync(self._held)
        for file in self.folder.glob(f"{INDEX}*"):
            file.unlink()
        self.follow()
        self.next.unlink()

    def size(self) -> int:
        return self.file.stat().st_size if self.file.exists() else 0

    def whole_size(self) -> int:
        """Without a last line that is half written."""
        size = self.size()
        if not size:
            return 0
        with open(self.file, "rb") as stream:
            return _line_break(stream.fileno(), size)

    def require_whole(self) -> None:
        """Raises InputError where lines are lost at the end."""
        if what := self.shortfall():
            raise self.lost(what)

    def is_linked(self) -> bool:
        """Whether each line is whole and follows the one before it, by checksums alone, as a store of a million lines
        is to open soon. While others replace the lines it may be wrong."""
        if not self.file.is_file():
            return True
        before = NOTHING.checksum.encode()
        with open(self.file, "rb") as stream:
            for line in stream:
                if not line.endswith(b"\n"):
                    return True
                if link_of(line) not in (before, b"") or not is_whole(line):
                    return False
                before = line[:8]
        return True

    def require_links(self) -> None:
        """Raises InputError where lines are damaged, or stand in another order; NewerFormat as `events` does."""
        if not self.is_linked():
            collections.deque(self.events(), 0)

    def lost(self, what: str) -> InputError:
        return InputError(f"{self.file} must have all lines that were written; got one of which {what}; {ADVICE}")

    def shortfall(self) -> str:
        """Signs that lines are lost at the end, in words; empty: there are none. While others write it may be wrong."""
        head = read_head(self.head)  # before the size: it is never ahead of it
        if self.next.exists():  # `finish` comes first
            return _CUT_REPLACEMENT if self.replacement() is None else ""
        if not self.file.is_file():
            return "nothing is there"
        size = self.whole_size()
        if head is None and self.head.exists():
            return f"{HEAD}, which says how far it goes, is damaged"
        if head is None and not size and any((self.folder / "episodes").glob("*/*.episode")):
            return "nothing is left, beside records"
        if head is None:
            return f"{HEAD}, which says how far it goes, is missing" if self._last(size).number else ""
        if head.size > size:
            return f"{size} bytes are left of {head.size}, which had {head.lines} lines"
        if self._last(head.size).checksum != head.checksum:
            return f"line {head.lines}, at byte {head.size}, is not the one that was written"
        return ""

    @property
    def is_uncounted(self) -> bool:
        """Whether nothing says how many lines there were: they have no numbers, and neither head nor index is there."""
        told = self.head.exists() or (self.folder / INDEX).exists() or self.next.exists()
        return not told and bool(size := self.whole_size()) and self._last(size).number is None

    def end_at(self, size: int) -> JournalEnd:
        """End of the lines up to that byte."""
        last = self._last(size)
        if last.number is not None or not size:
            return JournalEnd(size, last.number or 0, last.checksum)
        with open(self.file, "rb") as stream:  # of an earlier version: only counting tells
            blocks = (stream.read(min(_BLOCK, size - start)) for start in range(0, size, _BLOCK))
            return JournalEnd(size, sum(block.count(b"\n") for block in blocks), last.checksum)

    def _last(self, size: int) -> WrittenLine:
        """The line that ends at that byte."""
        if not size:
            return WrittenLine(None, None, "", NOTHING.checksum)
        with open(self.file, "rb") as stream:
            start = _line_break(stream.fileno(), size - 1)
            return decoded(os.pread(stream.fileno(), size - start, start))

    def lines(self, start: int = 0) -> Iterator[JournalLine]:
        """The whole lines from byte `start`, damaged ones among them; numbers count from there."""
        if not self.file.exists():
            return
        try:
            end = self.end_at(start)
            with open(self.file, "rb") as stream:
                stream.seek(start)
                for number, text in enumerate(stream, 1):
                    if not text.endswith(b"\n"):
                        return
                    written = decoded(text)
                    if decoded_end(text) is not None:  # of the head, copied over the lines
                        written = written._replace(event=None)
                    yield JournalLine(number, end.size, written.event, text, end.gap(written))
                    end = end.after(written, len(text))
        except OSError as error:
            raise InputError(f"{self.file} must be a journal that can be read; got {error.strerror}") from error

    def events(self, start: int = 0) -> Iterator[tuple[Event, int]]:
        """Each event, and the byte after it. Raises InputError for a damaged line and where one is missing, NewerFormat
        for one of a newer version."""
        for line in self.lines(start):
            if line.missing:
                raise self.lost(line.missing)
            if line.event is None:
                raise InputError(
                    f"{self.file}: the line at byte {line.start} must be an event with its checksum; got "
                    f"{line.text[:40]!r}; {LAUNCHER} store --config.action=repair sets it aside"
                )
            try:
                yield checked_event(line.event, f"{self.file}, byte {line.start}"), line.end
            except NewerFormat:
                raise
            except InputError as error:
                advice = f"{LAUNCHER} store --config.action=repair sets the line aside"
                raise InputError(f"{error}; {advice}") from error


def _line_break(descriptor: int, size: int) -> int:
    """The byte after the last line feed before byte `size`; 0 where there is none."""
    while size:
        step = min(size, _BLOCK)
        if (found := os.pread(descriptor, step, size - step).rfind(b"\n")) >= 0:
            return size - step + found + 1
        size -= step
    return 0
