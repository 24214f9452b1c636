"""Whether a store is whole, and what is done where it is not.

What can be damaged: the journal (a torn or changed line), a record or an image (lost, half-written, changed), the index
(unreadable, or not what the journal comes to). `check` finds it; `repair` mends it: the index is made anew, bad lines
are set aside in STORE/damaged, whole records without a line are taken in again, and episodes that cannot be read any
more are dropped, with all that was said of them.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import json
import os
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.data.store import Store
from tars_jax.data.store.index import FILE as INDEX
from tars_jax.data.store.index import TABLES, Index
from tars_jax.data.store.journal import Journal, encoded
from tars_jax.data.store.records import (
    Record,
    decode_record,
    digest,
    episode_file,
    image_file,
    image_names,
    origin_of,
    read_checked,
    row_of,
)
from tars_jax.data.store.verdicts import own_verdict
from tars_jax.files import write_atomic

DAMAGED = "damaged"


@dataclasses.dataclass(frozen=True)
class Problem:
    """Something that is not as it must be."""

    kind: str  # index, journal, episode, image, unlisted or partial
    file: Path
    what: str
    episode: str = ""  # that is lost with it

    def __str__(self) -> str:
        return f"{self.kind}: {self.file}: {self.what}"


def check(path: Path) -> list[Problem]:
    """All that is wrong with the store in that folder; every file is read. Raises InputError where there is none."""
    journal = Journal(path)
    if not journal.file.is_file():
        raise InputError(f"store must be the folder of one, with a journal.jsonl; got {str(path)!r}")
    return [*_journal_problems(journal), *_index_problems(path, journal), *_file_problems(path, journal)]


def repair(path: Path) -> list[Problem]:
    """Mends what `check` finds, and returns that. Nobody else may write meanwhile; the journal's lock sees to it."""
    found = check(path)
    if not found:
        return []
    aside = path / DAMAGED
    journal = Journal(path)
    with journal.locked():
        problems = check(path)  # as others have left it until now
        aside.mkdir(exist_ok=True)
        lines = list(journal.lines())
        if bad := [line for line in lines if line.event is None]:
            with open(aside / "lines", "ab") as kept:
                kept.writelines(line.text for line in bad)
        # A record whose own line is damaged is taken in again below; what else such a line said is lost.
        events = [line.event for line in lines if line.event is not None]
        listed = _listed(events)
        dropped = {event["drop"] for event in events if "drop" in event}
        lost = {problem.episode for problem in problems if problem.episode} & listed.keys()
        events += [{"drop": id} for id in sorted(lost)]
        again: list[dict[str, Any]] = []
        for file in _records(path):
            if file.stem not in listed and (record := _whole(path, file)) is not None:
                origin = origin_of(record.trajectory, str(file))
                said = [verdict.to_json() for verdict in own_verdict(record.trajectory)]
                # Before what was said of it later; after its drop, where it had one.
                (events if record.id in dropped else again).append({"add": row_of(record, origin, said)})
        events = [*again, *events]
        for problem in problems:
            if problem.kind == "partial":
                problem.file.unlink(missing_ok=True)
            elif problem.kind in ("episode", "image"):
                useless = [problem.file, *([episode_file(path, problem.episode)] if problem.episode in lost else [])]
                for file in filter(Path.exists, useless):
                    file.rename(aside / file.name)
        for name in (INDEX, f"{INDEX}-wal", f"{INDEX}-shm"):
            (path / name).unlink(missing_ok=True)
        # In place, as whoever waits for the lock waits for this very file.
        write_atomic(_unused(aside / "journal.before"), journal.file.read_bytes())
        content = b"".join(encoded(event) for event in events)
        with open(journal.file, "r+b") as stream:
            stream.write(content)
            stream.truncate()
            stream.flush()
            os.fsync(stream.fileno())
    Store(path).close()
    return found


def _unused(file: Path) -> Path:
    """That name, or with a number: where a repair was killed, its own journal.before is the only whole one."""
    names = itertools.chain([file], (file.with_name(f"{file.name}.{number}") for number in itertools.count(2)))
    return next(name for name in names if not name.exists())


def _journal_problems(journal: Journal) -> Iterator[Problem]:
    end = 0
    for line in journal.lines():
        end = line.start + len(line.text)
        if line.event is None:
            yield Problem("journal", journal.file, f"line {line.number} is damaged: {line.text[:40]!r}")
    if end != journal.size():
        yield Problem("journal", journal.file, f"the last line is half written: {journal.size() - end} bytes")


def _index_problems(path: Path, journal: Journal) -> Iterator[Problem]:
    file = path / INDEX
    if not file.exists():
        yield Problem("index", file, "it is missing")
        return
    try:
        index = Index(path, journal)
    except InputError as error:
        yield Problem("index", file, str(error))
        return
    try:
        state = index.connection.execute("PRAGMA integrity_check").fetchone()[0]
        if state != "ok":
            yield Problem("index", file, state[:200])
            return
        if index.applied() > journal.size():
            yield Problem("index", file, "it holds more than the journal")
            return
        whole = [line.event for line in journal.lines() if line.event is not None and line.start < index.applied()]
        for table, held, wanted in _differing(index, whole):
            yield Problem(
                "index", file, f"its table {table} is not what the journal comes to: {held} rows for {wanted}"
            )
    except (sqlite3.DatabaseError, InputError) as error:
        yield Problem("index", file, str(error))
    finally:
        index.close()


def _listed(events: Iterable[Mapping[str, Any]]) -> dict[str, None]:
    """The episodes that are there after all events."""
    listed: dict[str, None] = {}
    for event in events:
        if "add" in event:
            listed[event["add"]["id"]] = None
        elif "drop" in event:
            listed.pop(event["drop"], None)
    return listed


def _differing(index: Index, events: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, int, int]]:
    """Tables that differ from an index made anew: their names, their rows and the rows that they should have."""
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder))
        with journal.locked():
            journal.append(events)
            anew = Index(Path(folder), journal)
            try:
                anew.catch_up()
                for table in TABLES:
                    held, wanted = (_content(each, table) for each in (index, anew))
                    if held != wanted:
                        yield table, sum(held.values()), sum(wanted.values())
            finally:
                anew.close()


def _content(index: Index, table: str) -> collections.Counter[tuple[Any, ...]]:
    return collections.Counter(tuple(row) for row in index.rows(f"SELECT * FROM {table}"))


def _file_problems(path: Path, journal: Journal) -> Iterator[Problem]:
    listed = _listed(line.event for line in journal.lines() if line.event is not None)
    good: dict[str, str] = {}  # what is wrong with an image; empty: nothing
    for id in listed:
        file = episode_file(path, id)
        try:
            stored = decode_record(read_checked(file, id), str(file))
        except InputError as error:
            yield Problem("episode", file, str(error), id)
            continue
        for name in image_names(stored):
            picture = image_file(path, name)
            if name not in good:
                good[name] = _wrong(picture, name)
            if good[name]:
                yield Problem("image", picture, f"{good[name]} Of episode {id[:12]}.", id)
    for file in _records(path):
        if file.stem not in listed:
            yield Problem("unlisted", file, "a record must have a line in the journal; repair takes it in, if whole")
    for folder in ("episodes", "images"):
        for file in (path / folder).glob("*/.*.partial"):
            yield Problem("partial", file, "left by a write that was killed")


def _wrong(file: Path, name: str) -> str:
    try:
        read_checked(file, name)
    except InputError as error:
        return str(error)
    return ""


def _records(path: Path) -> list[Path]:
    return sorted((path / "episodes").glob("*/*.episode"))


def _whole(path: Path, file: Path) -> Record | None:
    """The record of a file that nobody listed; None where it, or an image of it, cannot be read."""
    try:
        content = read_checked(file, file.stem)
        stored = decode_record(content, str(file))
    except InputError:
        return None
    names = image_names(stored)
    if any(_wrong(image_file(path, name), name) for name in names):
        return None
    return Record(digest(content), content, dict.fromkeys(names, b""), stored)


def summary(store: Store) -> str:
    """What is in it, in one line of JSON."""
    sets = store.index.rows("SELECT name, COUNT(*) AS count FROM members GROUP BY name ORDER BY name")
    return json.dumps(
        {
            "episodes": store.count(),
            "V=1": store.count("verdict=1"),
            "V=0": store.count("verdict=0"),
            "no verdict": store.count("verdict=none"),
            "contradictory": store.count("contradictory=1"),
            "sets": {row["name"]: row["count"] for row in sets},
        }
    )
