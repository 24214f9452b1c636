"""The one form of a check: all that a task changes in a site's state, as plain data. Everything else stays as it was.

{"changes": [{"read": "milestones", "is": {"name": "Sprint 9", "completed": "0"}, "open": ["due"]},
             {"read": "tickets", "where": {"summary": "Printer jams"}, "is": {"status": "closed"}},
             {"read": "wiki", "where": {"name": "BookClub"}, "contains": {"text": ["seven chairs", "two lamps"]}},
             {"read": "reports", "where": {"title": "All"}, "gone": true}],
 "open": {"users": ["last_seen"], "log": ["*"]}}

A row that changes or goes is told by `where`, which one row alone has at first. What comes has the fields that are
named and no others; what changes keeps the fields that are not named. Of the texts that are named, empty lines at the
ends and blanks at the ends of lines do not count, as sites put and drop some; all else is compared whole. `today` are
fields that hold the day on which it is done, such as a date that a form fills in by itself, and how that is written:
{"today": {"date": "%Y-%m-%d"}}. `also` are other texts of a field of `is` that mean the same, where a site writes what
is asked for in its own way: {"is": {"type": "TEXT"}, "also": {"type": ["JSON"]}}. `open` are fields, or all rows of a
reader, that may be anything. No code of a task is ever run.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tars_jax import InputError
from tars_jax.decoding import decoded
from tars_jax.json_fields import short_repr
from tars_jax.tasks.websites.tables import Row, Tables, plain, unmatched, visible_text

ALL = "*"
UNKNOWN = "must not be there; its fields are those of tasks/websites/effect.py"


@dataclasses.dataclass(frozen=True)
class Change:
    """A row that comes, changes or goes. Raises InputError for what cannot be."""

    read: str  # the reader whose row it is
    where: Mapping[str, str] = dataclasses.field(default_factory=dict)  # of the row at first; none: it is new
    gone: bool = False
    is_: Mapping[str, str] = dataclasses.field(default_factory=dict)
    contains: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    open: tuple[str, ...] = ()
    today: Mapping[str, str] = dataclasses.field(default_factory=dict)  # as `datetime.strftime` writes it, in UTC
    also: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)  # that `is` may be as well

    def __post_init__(self) -> None:
        named = self.fields
        if twice := [name for name, count in Counter(named).items() if count > 1]:
            raise InputError(
                f"fields of a change must be in one of is, contains, today and open; got {twice[0]!r} in two"
            )
        if dayless := [form for form in self.today.values() if "%d" not in form and "%j" not in form]:
            raise InputError(f"today must say how a day is written, such as %Y-%m-%d; got {dayless[0]!r}")
        if self.gone and (named or not self.where):
            raise InputError(f"a row that is gone must have where, and no fields; got {short_repr(self.to_json())}")
        if not self.gone and not named:
            raise InputError(f"a change must say what a row is like then; got {short_repr(self.to_json())}")
        if lost := sorted({*self.also} - {*self.is_}):
            raise InputError(f"also must be of fields of is; got {lost[0]!r}")
        if any(not texts for texts in self.contains.values()):
            raise InputError(f"contains must have texts; got {short_repr(self.to_json())}")

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields that may be other than they were."""
        return (*self.is_, *self.contains, *self.open, *self.today)

    def on(self, day: datetime.date) -> Change:
        """The change when it is done on that day."""
        if not self.today:
            return self
        dated = {name: day.strftime(form) for name, form in self.today.items()}
        return dataclasses.replace(self, is_={**self.is_, **dated}, today={})

    def finds(self, row: Row) -> bool:
        """Whether `where` tells this row."""
        return all(name in row and visible_text(row[name]) == visible_text(value) for name, value in self.where.items())

    def fits(self, old: Row | None, new: Row) -> bool:
        """Whether a row is as it is to be. `old`: what it was; None: it is new."""
        names = {*new, *(old or self.fields)}
        return all(self._field_fits(name, old, new) for name in names)

    def _field_fits(self, name: str, old: Row | None, new: Row) -> bool:
        found = new.get(name)
        if found is None:
            return False
        if name in self.is_:
            return visible_text(found) in map(visible_text, (self.is_[name], *self.also.get(name, ())))
        if name in self.contains:
            return all(visible_text(text) in visible_text(found) for text in self.contains[name])
        return name in self.open or (old is not None and found == old.get(name))

    def to_json(self) -> dict[str, Any]:
        """Without what is left out."""
        contains, also = ({name: list(texts) for name, texts in given.items()} for given in (self.contains, self.also))
        given = {
            "read": self.read, "where": dict(self.where), "gone": self.gone, "is": dict(self.is_),
            "contains": contains, "today": dict(self.today), "open": list(self.open), "also": also,
        }  # fmt: skip
        return {name: value for name, value in given.items() if value}


Value = Annotated[str | int | float | bool | None, Meta(description="a text or a number")]
Texts = Annotated[list[Any], Meta(min_length=1, description="an array of texts")]
Names = Annotated[list[str], Meta(description="an array of names")]


class ChangeRecord(msgspec.Struct):
    """A change as JSON."""

    read: str
    where: dict[str, Value] = {}
    gone: bool = False
    is_: dict[str, Value] = msgspec.field(name="is", default_factory=dict)
    contains: dict[str, Texts] = {}
    today: dict[str, str] = {}
    open: Names = []
    also: dict[str, Texts] = {}

    def change(self) -> Change:
        where, is_ = ({name: plain(each) for name, each in given.items()} for given in (self.where, self.is_))
        contains, also = (
            {name: tuple(map(plain, texts)) for name, texts in given.items()} for given in (self.contains, self.also)
        )
        return Change(self.read, where, self.gone, is_, contains, tuple(self.open), self.today, also)


class EffectRecord(msgspec.Struct):
    """An effect as JSON."""

    changes: list[ChangeRecord]
    open: dict[str, Names] = {}


@dataclasses.dataclass(frozen=True)
class Effect:
    """All that changes; without changes everything is to stay as it was."""

    changes: tuple[Change, ...] = ()
    open: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)  # by reader, fields, or ALL its rows

    @property
    def readers(self) -> tuple[str, ...]:
        """Readers that the effect names."""
        return tuple(dict.fromkeys((*(each.read for each in self.changes), *self.open)))

    def located(self, before: Tables) -> tuple[Row | None, ...]:
        """The row of each change as it is at first. Raises InputError where `where` finds none, or several."""
        rows: list[Row | None] = []
        taken: list[tuple[str, Row]] = []
        for change in self.changes:
            found = [row for row in self._seen(before, change.read) if change.finds(row)] if change.where else []
            if change.where and (len(found) != 1 or (change.read, found[0]) in taken):
                raise InputError(
                    f"where of {change.read} must find one row of its own; got {len(found)} for {dict(change.where)}"
                )
            taken += [(change.read, row) for row in found]
            rows.append(found[0] if found else None)
        return tuple(rows)

    def on(self, day: datetime.date) -> Effect:
        """The effect when it is done on that day."""
        return dataclasses.replace(self, changes=tuple(each.on(day) for each in self.changes))

    def wrong(self, before: Tables, now: Tables, days: Sequence[datetime.date] = ()) -> str:
        """The first thing that is not as it should be; empty: nothing.

        Args:
          before: the state at the beginning; now: as it is.
          days: on one of which it was done, as a form may be opened on one and sent on the next; (): today, in UTC.

        Raises InputError as `located`.
        """
        if any(each.today for each in self.changes):
            judged = days or (datetime.datetime.now(datetime.UTC).date(),)
            complaints = [self.on(day).wrong(before, now) for day in judged]
            return "" if "" in complaints else complaints[-1]
        rows = list(zip(self.changes, self.located(before), strict=True))
        for reader in sorted({*before, *now, *(each.read for each in self.changes)}):
            of_reader = [(change, old) for change, old in rows if change.read == reader]
            if said := self._wrong_rows(reader, of_reader, before, now):
                return f"{reader}: {said}"
        return ""

    def _wrong_rows(self, reader: str, rows: Sequence[tuple[Change, Row | None]], before: Tables, now: Tables) -> str:
        gone, come = unmatched(self._seen(before, reader), self._seen(now, reader))
        for _, old in rows:
            if old is not None and dict(old) not in gone:
                return f"{short_repr(dict(old))} is as it was"
            if old is not None:
                gone.remove(dict(old))
        wanted = [(change, old) for change, old in rows if not change.gone]
        is_loose = ALL in self.open.get(reader, ())
        if gone and not is_loose:
            return f"{short_repr(dict(gone[0]))} is no more as it was"
        if len(come) > len(wanted) and not is_loose:
            return f"{len(come)} rows came or changed instead of {len(wanted)}"
        fitting = [[n for n, new in enumerate(come) if change.fits(old, new)] for change, old in wanted]
        if (left := unpaired(fitting)) is not None:
            return f"no row is as {short_repr(wanted[left][0].to_json())}"
        return ""

    def _seen(self, tables: Tables, reader: str) -> Sequence[Row]:
        """The rows of a reader without its open fields."""
        hidden = self.open.get(reader, ())
        rows = tables.get(reader, ())
        return [{k: v for k, v in row.items() if k not in hidden} for row in rows] if hidden else rows

    def to_json(self) -> dict[str, Any]:
        given = {
            "changes": [each.to_json() for each in self.changes],
            "open": {k: list(v) for k, v in self.open.items()},
        }
        return given if self.open else {"changes": given["changes"]}

    @classmethod
    def from_json(cls, value: Any, prefix: str = "effect.") -> Effect:
        """Inverse of `to_json`. Raises InputError that names the field."""
        record = decoded(value, EffectRecord, prefix, unknown=UNKNOWN)
        opened = {reader: tuple(names) for reader, names in record.open.items()}
        return cls(tuple(each.change() for each in record.changes), opened)


NOTHING_CHANGES = Effect()


def unpaired(fitting: Sequence[Sequence[int]]) -> int | None:
    """The first one that gets no partner of its own, where no two may have the same; None: all get one.

    By augmenting paths, as several rows may fit one change.
    """
    owner: dict[int, int] = {}

    def placed(one: int, tried: set[int]) -> bool:
        for place in fitting[one]:
            if place not in tried:
                tried.add(place)
                if place not in owner or placed(owner[place], tried):
                    owner[place] = one
                    return True
        return False

    return next((one for one in range(len(fitting)) if not placed(one, set())), None)
