"""The journal of a page, from which it can be replayed: how it was opened, and every call since with its screenshot.

On the virtual clock a replay is exact, so a journal is a checkpoint of everything at once: address, cookies and
storage, the game's state, the clock and chance. As a file it is one JSON object a line, the first one for the page:

    {"version": 1, "page": {"root", "index", "mounts", "width", "height", "single_canvas", ...}, "before": 12}
    {"call": {"call": "act", "events": [...], "advance_ms": 120.0, "read": null}, "result": "sha256:...",
     "idempotency_key": null}

`before` counts the calls of the session before this journal; `last`, where it is known, is the last of them.

It is a write-ahead log: a call counts when its line is whole. A line that a kill or a full disk has cut off is as if
it never was, and one that the disk gives back unreadable ends the way there: the calls behind it need it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import math
import os
import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.json_fields import is_text
from tars_jax.sandbox.browser.page import Page
from tars_jax.sandbox.browser.screenshots import PageObservation
from tars_jax.sandbox.browser.sessions.calls import Call, call_from_json, call_to_json
from tars_jax.sandbox.browser.sessions.specs import spec_from_json, spec_to_json
from tars_jax.sandbox.browser.site import PageSpec
from tars_jax.sandbox.failures import PageError, SandboxFailure

VERSION = 1
MOST_CALLS = 2**53
ERROR, VALUE = "error", "value"  # results without a screenshot: the page's script raised; a call of `evaluate`
RESULT = re.compile(f"{ERROR}|{VALUE}|sha256:[0-9a-f]{{64}}")
PLACE_BYTES = 1 << 16  # that the note of a place may take more than the one before


@dataclasses.dataclass(frozen=True)
class JournalEntry:
    """A call that came back, and what it showed."""

    call: Call
    result: str  # "sha256:" and the digest of the PNG, or ERROR, or VALUE
    idempotency_key: str | None = None  # the caller's word for this one call

    def to_json(self) -> dict[str, Any]:
        return {"call": call_to_json(self.call), "result": self.result, "idempotency_key": self.idempotency_key}


class Journal:
    """The calls of one page. Kept in memory, and in a file once it has been written to one."""

    def __init__(
        self,
        spec: PageSpec,
        before: int = 0,
        entries: list[JournalEntry] | None = None,
        last: JournalEntry | None = None,
    ) -> None:
        self.spec = spec
        self.before = before
        self.entries = entries or []
        self.last = last  # of the calls before
        self._file: Path | None = None
        self._size = 0  # bytes of the file's whole lines

    @property
    def calls(self) -> int:
        """Number of calls that the session had come to when the last of these came back."""
        return self.before + len(self.entries)

    def write_to(self, file: Path) -> None:
        """Writes what there is, whole or not at all, and from now on each entry as it comes. Raises OSError."""
        data = b"".join(map(_line, self.to_json()))
        replace(file, data)
        self._file, self._size = file, len(data)

    def to_json(self) -> list[dict[str, Any]]:
        """The lines of the file."""
        last = {} if self.last is None else {"last": self.last.to_json()}
        head = {"version": VERSION, "page": spec_to_json(self.spec), "before": self.before, **last}
        return [head, *(entry.to_json() for entry in self.entries)]

    def copy(self) -> Journal:
        """A copy that goes on by itself."""
        return Journal(self.spec, self.before, list(self.entries), self.last)

    def append(self, entry: JournalEntry) -> None:
        """Raises OSError where the file does not take the whole line; the journal is then as it was."""
        if self._file is not None:
            line = _line(entry.to_json())
            file = os.open(self._file, os.O_WRONLY)
            try:
                _write(file, line, self._size)
            finally:
                os.close(file)
            self._size += len(line)
        self.entries.append(entry)

    def take_back(self) -> None:
        """The last entry is as if it never was."""
        line = _line(self.entries.pop().to_json())
        if self._file is not None:
            self._size -= len(line)
            os.truncate(self._file, self._size)

    def require_room(self) -> None:
        """Raises OSError where the disk has no room for this journal once more, as a page at a new place writes it."""
        if self._file is not None:
            probe = self._file.with_name(".room.partial")
            with gone_after_failure(probe):
                probe.write_bytes(bytes(self._size + PLACE_BYTES))
            probe.unlink()


def _write(file: int, line: bytes, at: int) -> None:
    """Writes a line behind `at` bytes. What a line before it has left there goes first, and its own rest on failure."""
    os.ftruncate(file, at)
    try:
        written = 0
        while written < len(line):
            written += os.pwrite(file, line[written:], at + written)
    except OSError:
        os.ftruncate(file, at)
        raise


def result_of(value: Any) -> str:
    """An entry's record of a call's value."""
    return f"sha256:{hashlib.sha256(value.png).hexdigest()}" if isinstance(value, PageObservation) else VALUE


def read_journal(file: Any) -> Journal:
    """A journal from its file (a Path, or one of zipfile). Raises InputError that names the file and the line."""
    try:
        *lines, _ = file.read_bytes().split(b"\n")  # behind the last line break is nothing, or a torn line
    except (OSError, KeyError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    return journal_from_json([_parsed(line) for line in lines], str(file))


def recover_journal(file: Path, most: float = math.inf) -> tuple[Journal, int]:
    """The journal that a killed process has left, and how many whole lines were cut off its end.

    It reaches up to the first line that is unreadable, or to `most` calls of the session. The file is cut back to that
    in place, which takes no room. Raises InputError where the way cannot even begin, OSError as reading does.
    """
    data = file.read_bytes()
    *lines, _ = data.split(b"\n")
    journal = journal_from_json([_parsed(line) for line in lines[:1]], str(file))
    size = len(lines[0]) + 1
    for line in lines[1:]:
        if journal.calls >= most:
            break
        try:
            journal.entries.append(_entry(_parsed(line)))
        except (ValueError, LookupError, TypeError):
            break
        size += len(line) + 1
    if size < len(data):
        os.truncate(file, size)
    journal._file, journal._size = file, size
    return journal, len(lines) - 1 - len(journal.entries)


def journal_from_json(lines: Any, name: str) -> Journal:
    """The inverse of Journal.to_json. Raises InputError that names the line."""
    number = 0
    try:
        head = lines[0]
        if head["version"] != VERSION:
            raise InputError(f"version must be {VERSION}; got {head['version']!r}")
        spec = spec_from_json(head["page"])
        entries = []
        for number in range(1, len(lines)):
            entries.append(_entry(lines[number]))
        number = 0
        last = None if head.get("last") is None else _entry(head["last"])
        return Journal(spec, _count(head["before"]), entries, last)
    except (ValueError, LookupError, TypeError) as error:
        raise InputError(f"{name}, line {number + 1} is no line of a journal: {error}") from error


def _entry(line: Any) -> JournalEntry:
    return JournalEntry(call_from_json(line["call"]), _result(line["result"]), _key(line["idempotency_key"]))


def _result(value: Any) -> str:
    if not isinstance(value, str) or not RESULT.fullmatch(value):
        raise InputError(f"result must be {ERROR}, {VALUE} or the digest of a screenshot; got {str(value)[:80]}")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MOST_CALLS:
        raise InputError(f"before must be a whole number, 0 or more; got {str(value)[:80]}")
    return value


def _key(value: Any) -> str | None:
    if value is not None and not is_text(value):
        raise InputError(f"idempotency_key must be text; got {str(value)[:80]}")
    return value


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


async def replay(
    journal: Journal, open_page: Callable[[PageSpec], Awaitable[Page]],
    heard: Callable[[JournalEntry, Any], None] = lambda entry, value: None,
) -> Page:  # fmt: skip
    """A new page that went the journal's way; `heard` gets what each call gave, a value or a PageError.

    Raises SandboxFailure: "diverged" when the page shows another screenshot than the journal's at any point, which can
    only be where something reached it that is not in the journal.
    """
    page = await open_page(journal.spec)
    try:
        for index, entry in enumerate(journal.entries):
            try:
                value = await entry.call.on(page)
            except PageError as error:
                value, result = error, ERROR
            else:
                result = result_of(value)
            if result != entry.result:
                raise SandboxFailure("diverged", f"call {index + 1} of {len(journal.entries)} gave another screenshot")
            heard(entry, value)
    except BaseException:
        await page.close()
        raise
    return page


def replace(file: Path, data: bytes) -> None:
    """Writes a file whole or not at all, for its owner alone: it may hold a token.

    A power cut ends the browsers too, so nothing waits for the disk.
    """
    partial = file.with_name(f".{file.name}.partial")
    with gone_after_failure(partial):
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as opened:
            opened.write(data)
        os.replace(partial, file)


@contextlib.contextmanager
def gone_after_failure(file: Path) -> Iterator[None]:
    """A file that the disk had no room for does not take the room that there is."""
    try:
        yield
    except OSError:
        file.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def stored(what: str) -> Iterator[None]:
    """Turns a file that cannot be written into SandboxFailure("disk"), which says that `what` has not been done."""
    try:
        yield
    except OSError as error:
        raise SandboxFailure("disk", f"{what}: {error.strerror or error}") from error


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
