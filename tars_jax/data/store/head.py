"""Head of a journal, its length in a small file beside it: what is lost at the end of lines, nothing else in them
tells.

It is written after the lines are on the disk. So the journal may be longer, where somebody was killed in between, and
is never shorter.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tars_jax.data.store.events import Event
from tars_jax.data.store.lines import WrittenLine, checksum_of, decoded, encoded

FILE = "journal.head"


class JournalEnd(NamedTuple):
    """End of a journal's lines."""

    size: int  # bytes
    lines: int
    checksum: str  # of the last one; empty: nobody knows, as it is damaged

    def to_bytes(self) -> bytes:
        return encoded(self._asdict())

    def after(self, written: WrittenLine, more: int) -> JournalEnd:
        """The end of the journal with one more line of so many bytes."""
        number = self.lines + 1 if written.number is None else written.number
        return JournalEnd(self.size + more, number, "" if written.event is None else written.checksum)

    def with_new(self, event: Event) -> tuple[bytes, JournalEnd]:
        """The line by which an event follows, and where lines end then."""
        line = encoded(event, self.lines + 1, self.checksum)
        return line, JournalEnd(self.size + len(line), self.lines + 1, checksum_of(line))

    def gap(self, written: WrittenLine) -> str:
        """Description of what is missing before that next line; empty: nothing."""
        if written.number is None:
            return ""
        if (count := written.number - self.lines - 1) > 0:
            return f"{count} {'line is' if count == 1 else 'lines are'} missing before line {written.number}"
        if self.checksum and (count or written.after != self.checksum):
            return f"the line before line {written.number} is not the one that was written"
        return ""


NOTHING = JournalEnd(0, 0, "0" * 8)


def read_head(file: Path) -> JournalEnd | None:
    """None where it is missing or damaged."""
    try:
        return decoded_end(file.read_bytes())
    except OSError:
        return None


def decoded_end(line: bytes) -> JournalEnd | None:
    """Inverse of `JournalEnd.to_bytes`; None for anything else."""
    found = decoded(line).event
    if found is None or found.keys() != set(JournalEnd._fields):
        return None
    end = JournalEnd(**found)
    counts = all(type(each) is int and each >= 0 for each in (end.size, end.lines))
    return end if counts and isinstance(end.checksum, str) else None
