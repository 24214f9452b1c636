"""Files of a computer found by name or by content. The work is done inside, by ../computer/guest/search.py."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence
from typing import Any

from tars_jax.sandbox.computer.guest_client import GuestError
from tars_jax.sandbox.computer.guest_machine import GuestMachine, Ran

MOST_OUTPUT = 2 << 20  # bytes of what is found


@dataclasses.dataclass(frozen=True)
class FileQuery:
    """What is looked for below a folder: lines of files by a `pattern`, otherwise files and folders by their names."""

    name: str = ""  # a shell pattern of the last part of a path, such as *.py
    glob: str = ""  # a pattern of the path from the folder on, in which ** stands for any number of folders
    pattern: str = ""  # a regular expression
    literal: bool = False  # the pattern is plain text
    ignore_case: bool = False
    multiline: bool = False  # the pattern may match across lines
    before: int = 0  # lines that are shown before a match
    after: int = 0
    include: Sequence[str] = ()  # shell patterns of names
    exclude: Sequence[str] = ()  # of any part of a path, or of the whole of it
    hidden: bool = True  # also what begins with a dot
    files_only: bool = False
    deep: bool = True  # also in folders below
    largest: int = 0  # bytes of a file whose lines are looked at; 0: any
    offset: int = 0  # matches that are left out at the beginning
    limit: int = 1000


@dataclasses.dataclass(frozen=True)
class Found:
    path: str  # from the folder on that was searched
    line: int = 0  # from 1 on; 0: found by name
    text: str = ""  # the line
    before: Sequence[str] = ()  # lines
    after: Sequence[str] = ()
    kind: str = "file"
    size: int = 0  # bytes, of what was found by name
    modified: float = 0.0  # seconds since 1970


@dataclasses.dataclass(frozen=True)
class SearchResult:
    folder: str  # that the paths lead on from
    found: Sequence[Found]
    searched: int  # files that were read
    missing: str = ""  # why there may be more: limit, time or output; empty: this is all

    @property
    def whole(self) -> bool:
        return not self.missing


def check_pattern(query: FileQuery) -> None:
    """Checks a query's pattern. Raises GuestError."""
    try:
        re.compile(re.escape(query.pattern) if query.literal else query.pattern)
    except re.error as error:
        words = f"pattern must be a regular expression; got {query.pattern!r:.80}: {error}"
        raise GuestError("input", words) from error


def command(machine: GuestMachine, query: FileQuery, only: str) -> list[str]:
    """The program that searches the folder in which it runs; `only`: one file there."""
    asked = json.dumps({**dataclasses.asdict(query), "only": only})
    return [machine.python, "-I", "-S", f"{machine.folder}/search.py", asked]


def read_result(ran: Ran, folder: str) -> SearchResult:
    """What the program has found. Raises GuestError where it failed."""
    if ran.status and not ran.timed_out:
        raise GuestError("EIO", f"{folder} could not be searched: {ran.stderr.decode(errors='replace')[-200:]}")
    objects = _objects(ran.stdout)
    end = objects.pop() if objects and "searched" in objects[-1] else {"searched": 0, "more": False}
    missing = "time" if ran.timed_out else "output" if ran.stdout_cut else "limit" if end["more"] else ""
    return SearchResult(folder, [Found(**each) for each in objects], end["searched"], missing)


def _objects(output: bytes) -> list[dict[str, Any]]:
    """Lines that are whole: one in the middle may be cut."""
    objects = []
    for line in output.split(b"\n"):
        try:
            objects.append(json.loads(line))
        except ValueError:
            continue
    return [each for each in objects if isinstance(each, dict)]
