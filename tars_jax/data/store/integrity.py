"""Whether a store is whole, and what is done where it is not.

What can be damaged: the journal (a line torn, changed or lost), a record or an image (lost, half-written, changed), the
index (unreadable, or not what the journal comes to). `check` finds it, and names what is lost with it; `repair` mends
it: the index is made anew, bad lines are set aside in STORE/damaged, what lost lines said is taken back from the old
index as far as that knows, whole records without a line are taken in again, and episodes that cannot be read any more
are dropped, with all that was said of them.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.data.store import Store, is_store
from tars_jax.data.store.events import EVENTS, Event, checked_event, describe_event
from tars_jax.data.store.head import FILE as HEAD
from tars_jax.data.store.head import decoded_end
from tars_jax.data.store.index import FILE as INDEX
from tars_jax.data.store.index import TABLES, Index
from tars_jax.data.store.journal import JournalLine, StoreJournal
from tars_jax.data.store.legacy_journal import UNCOUNTED, describe_lost_lines, episodes_never_added
from tars_jax.data.store.lines import decoded
from tars_jax.data.store.records import (
    StoredRecord,
    UnreadableFile,
    decode_record,
    digest,
    episode_file,
    image_file,
    image_names,
    origin_of,
    read_checked,
    row_of,
    task_key,
)
from tars_jax.data.store.recovery import indexed_bytes, missing_events, read_index, rebuilt_index
from tars_jax.data.store.verdicts import own_verdict
from tars_jax.files import write_atomic
from tars_jax.trajectory.files import NewerFormat

DAMAGED = "damaged"
_TAKEN_BACK = "repair takes back what the index knows of them, as named"
_MAY_BE_LOST = "what they said, hold-outs, verdicts and assignments perhaps among it: hold out again what has to be"
_UNKNOWN = "nothing tells what they said, but records that nobody lists"


@dataclasses.dataclass(frozen=True)
class Problem:
    """Something that is not as it must be."""

    kind: str  # index, journal, episode, image, unlisted, unreadable or partial
    file: Path
    what: str
    episode: str = ""  # that is lost with it
    lost: tuple[str, ...] = ()  # what else is, by name: hold-outs, verdicts, assignments

    def __str__(self) -> str:
        lost = f" Lost with it: {'; '.join(self.lost)}." if self.lost else ""
        return f"{self.kind}: {self.file}: {self.what}{lost}"


Heard = Callable[[int, int], None]  # how many episodes are read, and of how many


def check(path: Path, on_episode: Heard = lambda done, episodes: None) -> list[Problem]:
    """All that is wrong with the store in that folder; every file is read. What a first look finds is looked at again
    while nobody writes.

    Raises InputError where there is no store, NewerFormat for one that a newer version has written.
    """
    journal = StoreJournal(path)
    if not is_store(path):
        raise InputError(f"store must be the folder of one, with a journal.jsonl; got {str(path)!r}")
    found = _found(path, journal, on_episode)
    if found and journal.is_writable:
        with journal.locked(mending=False):
            return _found(path, journal, on_episode)
    return found


def _found(path: Path, journal: StoreJournal, on_episode: Heard) -> list[Problem]:
    lines = list(journal.lines())
    events, bad = _sorted_out(journal, lines)
    lost = _lost_lines(journal, lines)
    if journal.is_uncounted and (alone := episodes_never_added(events.values())):
        lost.append(describe_lost_lines(alone))
    problems = [*bad, *_journal_problems(journal, lines), *_index_problems(path, journal, lines, events)]
    problems += _file_problems(path, events, on_episode)
    if not lost:
        return problems
    said = _said_by_lost(path, journal, _in_order(lines, events), problems)
    what = f"{'; '.join(lost)}; {_TAKEN_BACK if said else _UNKNOWN}"
    named = {each for problem in bad for each in problem.lost}
    said = [each for each in said if each not in named] or ([] if said else [_MAY_BE_LOST])
    return [*bad, Problem("journal", journal.file, what, lost=tuple(said)), *problems[len(bad) :]]


def _lost_lines(journal: StoreJournal, lines: Sequence[JournalLine]) -> list[str]:
    """Signs that lines are lost, in words."""
    found = [line.missing for line in lines if line.missing]
    if short := journal.shortfall():
        found.append(short)
    elif (held := indexed_bytes(journal)) > journal.size():
        found.append(f"{journal.size()} bytes are left of {held}, which {INDEX} holds")
    return found


def _said_by_lost(path: Path, journal: StoreJournal, events: Sequence[Event], problems: Sequence[Problem]) -> list[str]:
    """By name, as far as the index knows."""
    known = read_index(journal)
    listed = _listed(events)
    episodes = [id for (id,) in known["episodes"] if id not in listed]
    back = missing_events(known, _repaired(path, events, problems))
    return [*(describe_event({"add": {"id": id}}) for id in episodes), *map(describe_event, back)]


def repair(path: Path, on_episode: Heard = lambda done, episodes: None) -> list[Problem]:
    """Mends what `check` finds, and returns that. It takes turns with all who write, by the journal's lock.

    Raises InputError as `check` does, for a store that can only be read, and for a file that the system does not give:
    it may be whole.
    """
    found = check(path, on_episode)
    if not found:
        return []
    aside = path / DAMAGED
    journal = StoreJournal(path)
    with journal.locked(mending=False):
        aside.mkdir(exist_ok=True)
        if journal.replacement() is None and journal.next.exists():
            journal.next.rename(_unused(aside / journal.next.name))
        journal.finish()
        problems = _found(path, journal, on_episode)  # as others have left it until now
        if unreadable := [problem for problem in problems if problem.kind == "unreadable"]:
            raise InputError(f"{unreadable[0].file} must be readable, before a repair; got {unreadable[0].what}")
        lines = list(journal.lines())
        events, _ = _sorted_out(journal, lines)
        if bad := [line for line in lines if line.number not in events]:
            with open(aside / "lines", "ab") as kept:
                kept.writelines(line.text for line in bad)
        anew = _repaired(path, _in_order(lines, events), problems)
        if any(problem.kind == "journal" for problem in problems):
            anew += missing_events(read_index(journal), anew)
        for problem in problems:
            if problem.kind == "partial":
                problem.file.unlink(missing_ok=True)
            elif problem.kind in ("episode", "image", "unlisted"):
                files = [problem.file, *([episode_file(path, problem.episode)] if problem.episode else [])]
                for file in files if problem.kind != "unlisted" or _whole(path, problem.file) is None else []:
                    if file.exists():
                        file.rename(_unused(aside / file.name))
        for file in (path / INDEX, journal.head):
            if file.is_dir():
                file.rename(_unused(aside / file.name))
        write_atomic(_unused(aside / "journal.before"), journal.file.read_bytes())
        journal.replace(anew)
    Store(path).close()
    return found


def _repaired(path: Path, events: Sequence[Event], problems: Sequence[Problem]) -> list[Event]:
    """Events of the repaired journal: what cannot be read any more is gone, and whole records are there.

    A record whose own line is damaged is taken in again; what else such a line said is lost.
    """
    listed = _listed(events)
    dropped = {event["drop"] for event in events if "drop" in event}
    lost = {problem.episode for problem in problems if problem.episode} & listed.keys()
    later: list[Event] = [{"drop": id} for id in sorted(lost)]
    before: list[Event] = []
    for file in _records(path):
        if file.stem not in listed and (record := _whole(path, file)) is not None:
            origin = origin_of(record.trajectory, str(file))
            said = [verdict.to_json() for verdict in own_verdict(record.trajectory)]
            # Before what was said of it later; after its drop, where it had one.
            (later if record.id in dropped else before).append({"add": row_of(record, origin, said)})
    return [*before, *events, *later]


def _unused(file: Path) -> Path:
    """That name, or with a number: where a repair was killed, its own journal.before is the only whole one."""
    names = itertools.chain([file], (file.with_name(f"{file.name}.{number}") for number in itertools.count(2)))
    return next(name for name in names if not name.exists())


def _sorted_out(journal: StoreJournal, lines: Sequence[JournalLine]) -> tuple[dict[int, Event], list[Problem]]:
    """Events of the lines that can be taken in, by their numbers, and the problems of the others."""
    events: dict[int, Event] = {}
    problems = []
    seen = set[bytes]()
    for line in lines:
        where = f"line {line.number}"
        if line.text in seen and decoded(line.text).number is not None:
            problems.append(Problem("journal", journal.file, f"{where} stands there twice: {line.text[:40]!r}"))
            continue
        seen.add(line.text)
        if decoded_end(line.text) is not None:
            problems.append(Problem("journal", journal.file, f"{where} is one of {HEAD}: the file was overwritten"))
            continue
        if line.event is None:
            problems.append(
                Problem("journal", journal.file, f"{where} is damaged: {line.text[:40]!r}", lost=_said(line.text))
            )
            continue
        try:
            events[line.number] = checked_event(line.event, str(journal.file))
        except NewerFormat:
            raise
        except InputError as error:
            what = f"{where} says what no table can hold: {error}"
            problems.append(Problem("journal", journal.file, what, lost=_said(line.text)))
    return events, problems


def _in_order(lines: Sequence[JournalLine], events: Mapping[int, Event]) -> list[Event]:
    """By the numbers that the lines were written with, whatever place they have: who left a set had joined it before.
    Lines of earlier versions stay behind those that they follow."""
    placed, last = [], 0
    for line in lines:
        if line.number in events:
            last = decoded(line.text).number or last
            placed.append((last, events[line.number]))
    return [event for _, event in sorted(placed, key=lambda each: each[0])]


def _said(text: bytes) -> tuple[str, ...]:
    """Words that a damaged line seems to have had."""
    _, _, body = text.partition(b" ")
    try:
        return (describe_event(json.loads(body)),)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        kinds = [each for each in EVENTS if f'"{each}"'.encode() in body]
        return (f"what it said, of the kind {kinds[0]}" if kinds else "what it said, of whatever kind",)


def _journal_problems(journal: StoreJournal, lines: Sequence[JournalLine]) -> Iterator[Problem]:
    end = lines[-1].end if lines else 0
    if journal.replacement() is not None:
        yield Problem("journal", journal.next, "a repair was cut off; the next one who writes finishes it")
    elif end != journal.size() and not journal.shortfall():
        yield Problem("journal", journal.file, f"the last line is half written: {journal.size() - end} bytes")
    if journal.is_uncounted:
        yield Problem("journal", journal.file, f"{UNCOUNTED}; repair numbers those that are there")


def _index_problems(
    path: Path, journal: StoreJournal, lines: Sequence[JournalLine], events: Mapping[int, Event]
) -> Iterator[Problem]:
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
        state = index.rows("PRAGMA integrity_check")[0][0]
        if state != "ok":
            yield Problem("index", file, state[:200])
            return
        applied = index.applied()
        if applied > journal.size():  # of the journal's problems
            return
        if applied not in {0, *(line.end for line in lines)}:
            yield Problem("index", file, f"it ends at byte {applied}, where no line of the journal does")
            return
        whole = [events[line.number] for line in lines if line.number in events and line.end <= applied]
        for table, held, wanted in _differing(index, whole):
            yield Problem(
                "index", file, f"its table {table} is not what the journal comes to: {held} rows for {wanted}"
            )
    except InputError as error:
        yield Problem("index", file, str(error))
    finally:
        index.close()


def _listed(events: Iterable[Event]) -> dict[str, None]:
    """The episodes that are there after all events."""
    listed: dict[str, None] = {}
    for event in events:
        if "add" in event:
            listed[event["add"]["id"]] = None
        elif "drop" in event:
            listed.pop(event["drop"], None)
    return listed


def _differing(index: Index, events: Sequence[Event]) -> Iterator[tuple[str, int, int]]:
    """Tables that differ from an index made anew: their names, their rows and the rows that they should have."""
    with rebuilt_index(events) as anew:
        for table in TABLES:
            held, wanted = (_content(each, table) for each in (index, anew))
            if held != wanted:
                yield table, sum(held.values()), sum(wanted.values())


def _content(index: Index, table: str) -> collections.Counter[tuple[Any, ...]]:
    return collections.Counter(tuple(row) for row in index.rows(f"SELECT * FROM {table}"))


def _file_problems(path: Path, events: Mapping[int, Event], on_episode: Heard) -> Iterator[Problem]:
    listed = _listed(events.values())
    good: dict[str, InputError | None] = {}  # what is wrong with an image
    for number, id in enumerate(listed, 1):
        on_episode(number, len(listed))
        file = episode_file(path, id)
        try:
            stored = decode_record(read_checked(file, id), str(file))
        except NewerFormat:
            raise
        except InputError as error:
            yield _damaged("episode", file, error, id, events.values())
            continue
        for name in image_names(stored):
            picture = image_file(path, name)
            if name not in good:
                good[name] = _wrong(picture, name)
            if (wrong := good[name]) is not None:
                yield _damaged("image", picture, wrong, id, events.values())
    for file in _records(path):
        if file.stem not in listed:
            whole = "takes it in" if _whole(path, file) else "sets it aside, as it is not whole"
            yield Problem("unlisted", file, f"a record must have a line in the journal; repair {whole}")
    for pattern in (".*.partial", "episodes/*/.*.partial", "images/*/.*.partial"):
        for file in path.glob(pattern):
            yield Problem("partial", file, "left by a write that was killed")


def _damaged(kind: str, file: Path, error: InputError, id: str, events: Iterable[Event]) -> Problem:
    if isinstance(error, UnreadableFile):
        return Problem("unreadable", file, str(error))
    what = f"{error} Of episode {id[:12]}." if kind == "image" else str(error)
    later = [each for each in events if each.get("episode") == id or id in each.get("assign", ())]
    return Problem(kind, file, what, id, tuple(map(_told_of_one, later)))


def _told_of_one(event: Event) -> str:
    return describe_event(event) if "verdict" in event else f"its place in set {event['set']}, batch {event['batch']}"


def _wrong(file: Path, name: str) -> InputError | None:
    try:
        read_checked(file, name)
    except InputError as error:
        return error
    return None


def _records(path: Path) -> list[Path]:
    return sorted((path / "episodes").glob("*/*.episode"))


def _whole(path: Path, file: Path) -> StoredRecord | None:
    """The record of a file that nobody listed; None where it, or an image of it, cannot be read."""
    try:
        content = read_checked(file, file.stem)
        stored = decode_record(content, str(file))
        task_key(stored.task)
    except NewerFormat:
        raise
    except InputError:
        return None
    names = image_names(stored)
    if any(_wrong(image_file(path, name), name) for name in names):
        return None
    return StoredRecord(digest(content), content, dict.fromkeys(names, b""), stored)


def summary(store: Store) -> str:
    """Summary of the store, in one line of JSON."""
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
