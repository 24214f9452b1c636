"""Recall from an index of a journal that has lost lines: hold-outs, verdicts, assignments and who left a set.

The tables hold what all lines came to, so what they have beyond the lines that are left is what the lost ones said.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tars_jax import InputError
from tars_jax.data.store.events import Event, checked_event
from tars_jax.data.store.index import Index
from tars_jax.data.store.journal import INDEX, StoreJournal
from tars_jax.data.store.verdicts import Verdict

Row = tuple[Any, ...]
_ASKED = {
    "episodes": "SELECT id FROM episodes ORDER BY rowid",
    "held_out": "SELECT task, start FROM held_out ORDER BY task",
    "verdicts": "SELECT episode, said FROM verdicts ORDER BY episode, number",
    "leavers": "SELECT name, batch, episode FROM leavers ORDER BY name, batch, episode",
    "batches": "SELECT name, batch FROM batches ORDER BY batch, name",
    "members": "SELECT name, batch, episode FROM members ORDER BY name, batch, place",
}
Known = Mapping[str, Sequence[Row]]  # the rows of each of these tables


@contextlib.contextmanager
def rebuilt_index(events: Sequence[Event]) -> Iterator[Index]:
    """The index that these events come to."""
    with tempfile.TemporaryDirectory() as folder:
        journal = StoreJournal(Path(folder))
        with journal.locked():
            journal.append(events)
            with contextlib.closing(Index(Path(folder), journal)) as index:
                index.catch_up()
                yield index


def read_index(journal: StoreJournal) -> Known:
    """Readable contents of the store's index, whatever its tables."""
    return {table: _rows(journal, sql) for table, sql in _ASKED.items()}


def indexed_bytes(journal: StoreJournal) -> int:
    """Bytes of the journal by its index; 0 where that cannot be read."""
    held = _rows(journal, "SELECT bytes FROM applied")
    return held[0][0] if held and type(held[0][0]) is int else 0


def _rows(journal: StoreJournal, sql: str) -> list[Row]:
    """The index is only looked at: opening it may make it anew."""
    mode = "mode=ro" if journal.is_writable else "mode=ro&immutable=1"
    try:
        file = f"file:{quote(str((journal.folder / INDEX).absolute()))}?{mode}"
        with contextlib.closing(sqlite3.connect(file, uri=True)) as connection:
            return connection.execute(sql).fetchall()
    except sqlite3.Error:
        return []


def missing_events(known: Known, events: Sequence[Event]) -> list[Event]:
    """Events that say what these do not, to follow them; of episodes that are there after them."""
    with rebuilt_index(events) as index:
        left = {table: [tuple(row) for row in index.rows(sql)] for table, sql in _ASKED.items()}
    there = {id for (id,) in left["episodes"]}
    gone = [row for row in _more(known, left, "leavers") if row[2] in there]
    inside = {(name, id) for name, _, id in left["members"]} - {(name, id) for name, _, id in gone}
    joined = [row for row in known["members"] if row[2] in there and (row[0], row[2]) not in inside]
    batches: dict[Row, list[str]] = {row: [] for row in _more(known, left, "batches")}
    found: list[Event] = []
    if held_out := _more(known, left, "held_out"):
        found.append({"hold_out": [list(row) for row in held_out]})
    was, said = _said(known), _said(left)
    for id in sorted(there):
        found += _verdicts(id, was.get(id, []), said.get(id, []))
    leaving: dict[Row, list[str]] = {}
    for name, batch, id in gone:
        leaving.setdefault((name, batch), []).append(id)
    found += [{"leave": ids, "set": name, "batch": batch} for (name, batch), ids in leaving.items()]
    for name, batch, id in joined:
        batches.setdefault((name, batch), []).append(id)
    found += [{"assign": ids, "set": name, "batch": batch} for (name, batch), ids in batches.items()]
    return [event for event in found if _is_event(event)]


def _more(known: Known, left: Known, table: str) -> list[Row]:
    there = set(left[table])
    return [row for row in known[table] if row not in there]


def _said(rows: Known) -> dict[str, list[Verdict]]:
    """Verdicts on each episode, the oldest first."""
    said: dict[str, list[Verdict]] = {}
    for episode, text in rows["verdicts"]:
        with contextlib.suppress(ValueError, TypeError, InputError):  # a damaged index
            said.setdefault(episode, []).append(Verdict.from_json(json.loads(text)))
    return said


def _verdicts(id: str, known: list[Verdict], left: list[Verdict]) -> list[Event]:
    """Events of lost verdicts, and after them what their speakers have said last, where that is not lost."""
    rest, lost = list(left), []
    for verdict in known:
        if verdict in rest:
            rest.remove(verdict)
        else:
            lost.append(verdict)
    last = {(each.kind, each.name): each for each in [*known, *rest]}  # the rest is newer than the index
    now = {(each.kind, each.name): each for each in [*left, *lost]}
    again = [last[speaker] for speaker in now if now[speaker] != last[speaker]]
    return [{"verdict": each.to_json(), "episode": id} for each in [*lost, *again]]


def _is_event(event: Event) -> bool:
    try:
        return bool(checked_event(event, INDEX))
    except InputError:
        return False
