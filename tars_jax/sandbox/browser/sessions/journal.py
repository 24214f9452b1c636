"""Where a page is, as how it got there: the way it was opened, and every call since, with what each one showed.

On the virtual clock a replay is exact, so a journal is a checkpoint of everything at once: address, cookies and
storage, the game's state, the clock and chance. As a file it is one JSON object a line, the first one for the page:

    {"version": 1, "page": {"root", "index", "mounts", "width", "height", "single_canvas", ...}, "before": 12}
    {"call": {"call": "act", "events": [...], "advance_ms": 120.0, "read": null}, "result": "sha256:...", "once": null}

`before` counts the calls of the session before this journal; `last`, where it is known, is the last of them. A line
that a kill has cut off is as if it never was.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.browser.failures import PageError, SandboxFailure
from tars_jax.sandbox.browser.page import Page
from tars_jax.sandbox.browser.screenshots import Observation
from tars_jax.sandbox.browser.sessions.calls import Call, call_from_json, call_to_json
from tars_jax.sandbox.browser.sessions.specs import spec_from_json, spec_to_json
from tars_jax.sandbox.browser.site import PageSpec

VERSION = 1
MOST_CALLS = 2**53
ERROR, VALUE = "error", "value"  # results without a picture: the page's script raised; a call of `evaluate`


@dataclasses.dataclass(frozen=True)
class Entry:
    """A call that came back, and what it showed."""

    call: Call
    result: str  # "sha256:" and the digest of the PNG, or ERROR, or VALUE
    once: str | None = None  # the caller's word for this one call

    def to_json(self) -> dict[str, Any]:
        return {"call": call_to_json(self.call), "result": self.result, "once": self.once}


class Journal:
    """The calls of one page. Kept in memory, and in `file` unless it is None."""

    def __init__(
        self, spec: PageSpec, before: int = 0, entries: list[Entry] | None = None, last: Entry | None = None
    ) -> None:
        self.spec = spec
        self.before = before
        self.entries = entries or []
        self.last = last  # of the calls before
        self._file: Path | None = None

    def write_to(self, file: Path) -> None:
        """Writes what there is, whole or not at all, and from now on each entry as it comes."""
        replace(file, b"".join(map(_line, self.to_json())))
        self._file = file

    def to_json(self) -> list[dict[str, Any]]:
        """The lines of the file."""
        last = {} if self.last is None else {"last": self.last.to_json()}
        head = {"version": VERSION, "page": spec_to_json(self.spec), "before": self.before, **last}
        return [head, *(entry.to_json() for entry in self.entries)]

    def copy(self) -> Journal:
        """One that goes on by itself."""
        return Journal(self.spec, self.before, list(self.entries), self.last)

    def append(self, entry: Entry) -> None:
        self.entries.append(entry)
        if self._file is not None:
            with self._file.open("ab") as file:
                file.write(_line(entry.to_json()))


def result_of(value: Any) -> str:
    """What an entry says of a call's value."""
    return f"sha256:{hashlib.sha256(value.png).hexdigest()}" if isinstance(value, Observation) else VALUE


def read_journal(file: Any) -> Journal:
    """A journal from its file (a Path, or one of zipfile). Raises InputError that names the file and the line."""
    try:
        *lines, _ = file.read_bytes().split(b"\n")  # behind the last line break is nothing, or a torn line
    except (OSError, KeyError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    return journal_from_json([_parsed(line) for line in lines], str(file))


def journal_from_json(lines: Any, name: str) -> Journal:
    """The inverse of Journal.to_json. Raises InputError that names the line."""
    number = 0
    try:
        head = lines[0]
        if head["version"] != VERSION:
            raise InputError(f"version is {head['version']!r}; it takes {VERSION}")
        spec = spec_from_json(head["page"])
        entries = []
        for number in range(1, len(lines)):
            entries.append(_entry(lines[number]))
        number = 0
        last = None if head.get("last") is None else _entry(head["last"])
        return Journal(spec, _count(head["before"]), entries, last)
    except (ValueError, LookupError, TypeError) as error:
        raise InputError(f"{name}, line {number + 1} is no line of a journal: {error}") from error


def _entry(line: Any) -> Entry:
    return Entry(call_from_json(line["call"]), str(line["result"]), _word(line["once"]))


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= MOST_CALLS:
        raise InputError(f"before is {str(value)[:80]}; it takes a whole number, 0 or more")
    return value


def _word(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise InputError(f"once is {str(value)[:80]}; it takes text")
    return value


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


async def replay(
    journal: Journal, open_page: Callable[[PageSpec], Awaitable[Page]],
    heard: Callable[[Entry, Any], None] = lambda entry, value: None,
) -> Page:  # fmt: skip
    """A new page that went the journal's way; `heard` gets what each call gave, a value or a PageError.

    Raises SandboxFailure: "diverged" when the page shows another picture than the journal's at any point, which can
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
                raise SandboxFailure("diverged", f"call {index + 1} of {len(journal.entries)} gave another picture")
            heard(entry, value)
    except BaseException:
        await page.close()
        raise
    return page


def replace(file: Path, data: bytes) -> None:
    """Writes a file whole or not at all. A power cut ends the browsers too, so nothing waits for the disk."""
    partial = file.with_name(f".{file.name}.partial")
    partial.write_bytes(data)
    os.replace(partial, file)


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
