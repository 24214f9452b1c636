"""Effects by which tasks are verified, made from what a solution did to a site's state several times.

All that came, changed or went is in it. Open is only what cannot be told: what came out another way the second time,
a moment of the clock, a number that counts up, a day that a form offers and nobody named. A field that holds the day
on which it was done has to hold that day.
What was asked for must be seen: every text that was typed stands in a row that came or changed.
"""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from tars_jax.data.website_synthesis.moves import PageMove
from tars_jax.data.website_synthesis.wording import QUOTED
from tars_jax.tasks.websites.effect import ALL, Change, Effect
from tars_jax.tasks.websites.tables import Difference, Row, Tables, differences, likeness, visible_text

IDENTITY = ("key", "id", "uuid", "name", "title", "path", "page", "slug", "summary", "what", "subject")
COUNTED = ("id", "key", "rid", "rowid")  # a number of these names goes on from those before, and others look like it
LONGEST_NAME = 200  # characters of a value that tells a row
SHORTEST_PART = 3  # of a typed text that stands inside of a longer one
MOST_CHANGES = 12
NOTHING = "it changes nothing in the state"
OTHERWISE = "its effect is another one the second time"
_EPOCHS = (1, 1e3, 1e6)  # seconds, milliseconds, microseconds
_DATES = ("%Y-%m-%d", "%Y%m%d", "%Y/%m/%d", "%d.%m.%Y", "%d %b %Y", "%b %d, %Y")
_DAY = datetime.timedelta(days=1)


class NoCheck(Exception):
    """The reason why no check can be written, and the inputs that nothing in the state shows."""

    def __init__(self, reason: str, unshown: Sequence[PageMove] = (), where: str = "") -> None:
        super().__init__(reason)
        self.unshown = tuple(unshown)
        self.where = where  # what exactly, for whoever looks into it


@dataclasses.dataclass(frozen=True)
class StateChange:
    """The state before and after one way of doing a task, each from a fresh reset, and when that was."""

    before: Tables
    after: Tables
    begun: datetime.datetime  # in UTC
    ended: datetime.datetime

    @property
    def days(self) -> tuple[datetime.date, ...]:
        """Days on which the change may have been made."""
        return self.begun.date(), self.ended.date()


def write_effect(
    done: Sequence[StateChange], inputs: Sequence[PageMove], noise: Collection[str] = (), logs: Collection[str] = (),
    names: Collection[str] = (),
) -> tuple[Effect, tuple[PageMove, ...]]:  # fmt: skip
    """The effect, and the inputs that no value in the state shows: of those nothing is known yet.

    Args:
      done: ways of doing it, two at least.
      noise: tables that change by looking alone; logs: those that tell what was done and not what is.
      names: that the instruction has in quotation marks; rows are told by these first.

    Raises NoCheck.
    """
    opened = {table: (ALL,) for table in sorted({*noise, *logs}) if table in done[0].before}
    first, *others = (_found(each, inputs, noise, logs) for each in done)
    if not first:
        raise NoCheck(NOTHING)
    if not all(others):
        raise NoCheck("it changes something only once in two times")
    if len(first) > MOST_CHANGES:
        raise NoCheck("it changes more than can be told")
    missing = [move for move in inputs if not any(_shows(each, move) for each in first)]
    if typed := [move for move in missing if move.kind == "fill"]:
        raise NoCheck("a text that was asked for is not in the state", typed)
    aligned = [_aligned(first, each) for each in others]
    changes: list[Change] = []
    for number, each in enumerate(first):
        change = _change([each, *(other[number] for other in aligned)], first, done, inputs, names)
        if change.where and not (change.gone or change.is_ or change.contains):  # only what counts or dates
            counted = (*change.open, *change.today)
            opened[each.table] = tuple(dict.fromkeys((*opened.get(each.table, ()), *counted)))
        elif not (change.where or change.is_ or change.contains):
            opened[each.table] = (ALL,)
        else:
            changes.append(change)
    if not changes:
        raise NoCheck("only counters and dates change")
    effect = Effect(tuple(changes), opened)
    for way in done:
        if said := effect.wrong(way.before, way.after, way.days):
            raise NoCheck(OTHERWISE, where=said)
    return effect, tuple(missing)


def is_shown(done: StateChange, inputs: Iterable[PageMove]) -> bool:
    """Whether the state that a way of doing it led to has every text that was put in."""
    found = differences(done.before, done.after)
    return all(any(_shows(each, move) for each in found) for move in inputs if move.kind == "fill")


def matches_category(category: str, found: Sequence[Difference]) -> bool:
    """Whether what happened is what the category says: intent has not drifted."""
    kinds = {each.kind for each in found}
    wanted = {"create": {"created", "changed"}, "delete": {"deleted", "changed"}}
    return bool(kinds & wanted.get(category, {"changed", "created"}))


def way_of(value: str, move: PageMove) -> str | None:
    """Way in which a field's value shows an input: "is", "contains", or not at all."""
    wanted = {"on": ("true", "1", "on", "yes"), "off": ("false", "0", "off", "no", "")}
    if move.kind == "toggle":
        return "is" if value.lower() in wanted[move.value] else None
    said, value = move.label if move.kind == "mark" else move.value.strip(), visible_text(value)
    if value == said or (move.kind != "fill" and value.lower() == said.lower()):
        return "is"
    if _is_number(value) and _is_number(said) and float(value) == float(said):
        return "is"
    return "contains" if len(said) >= SHORTEST_PART and said in value and move.kind == "fill" else None


def tells_time(value: str, done: Iterable[StateChange]) -> bool:
    """Whether a value has in it when it was done."""
    for each in done:
        days = [each.begun + number * _DAY for number in (-1, 0, 1)]
        if any(day.strftime(form) in value for day in days for form in _DATES):
            return True
        if _is_number(value):
            low, high = (each.begun - _DAY).timestamp(), (each.ended + _DAY).timestamp()
            if any(low <= float(value) / scale <= high for scale in _EPOCHS):
                return True
    return False


def unnamed(
    effect: Effect, before: Tables, instruction: str, inputs: Sequence[PageMove] = (), chosen: Collection[str] = ()
) -> str | None:
    """Name that the words lack, as several things could be meant; None: they name it.

    A row that changes or goes has a name in quotation marks that no other row has; a value that stands alone is named
    by its key, the label of its field. A new row that belongs to something that is there, such as a column to a table,
    has that one's name, or another of its values that nobody puts in.
    `chosen`: values that the form offers by itself.
    """
    quoted = " \n ".join(QUOTED.findall(instruction)).lower()

    def is_said(value: str) -> bool:
        return bool(value) and re.search(rf"(?<!\w){re.escape(value.lower())}(?!\w)", quoted) is not None

    rows = list(zip(effect.changes, effect.located(before), strict=True))
    known = [(change, old) for change, old in rows if old is not None]
    labels = set(re.findall(r"\w+", instruction.lower()))
    if known and not any(_is_told(change, old, before, is_said) or _is_labeled(old, labels) for change, old in known):
        first, meant = known[0]
        column = {name: [row.get(name) for row in before.get(first.read, ())] for name in meant}
        own = [said for name, said in meant.items() if column[name].count(said) == 1 and re.search(r"[^\W\d]", said)]
        return min(own, key=len, default=next(iter(first.where.values())))
    things = {row.get(name, "") for found in before.values() for row in found for name in IDENTITY}
    things = {value for value in things if value and not value.isdigit()}
    put_in = {move.value.strip() for move in inputs}

    def names_of(value: str) -> set[str]:
        """It, and what else calls a row that it calls, and no other row."""
        found = {value}
        for rows in before.values():
            called = [{row.get(name, "") for name in IDENTITY} for row in rows]
            found |= {
                each for own in called if value in own for each in own if sum(each in other for other in called) == 1
            }
        return found

    new = [change for change, old in rows if old is None and not change.gone]
    if any(is_said(value) and value not in put_in for change in new for value in change.is_.values()):
        return None
    for change in new:
        for name, value in change.is_.items():
            others = {row.get(name, "") for row in before.get(change.read, ())} - {value}
            if value in things and others & things and value not in chosen and not any(map(is_said, names_of(value))):
                return value
    return None


def _is_told(change: Change, old: Row, before: Tables, is_said: Callable[[str], bool]) -> bool:
    rows = before.get(change.read, ())
    said = {name: value for name, value in old.items() if is_said(value)}
    alike = [row for row in rows if all(row.get(name) == value for name, value in said.items())]
    return len(rows) == 1 or (bool(said) and len(alike) == 1)


def _is_labeled(old: Row, labels: set[str]) -> bool:
    """Whether it is a value that stands alone (`to_tables`), and the words have all of its key's."""
    return old.keys() == {"key", "value"} and set(re.findall(r"[^\W_]+", old["key"].lower())) <= labels


def _found(
    done: StateChange, inputs: Sequence[PageMove], noise: Collection[str], logs: Collection[str]
) -> list[Difference]:
    found = [each for each in differences(done.before, done.after) if each.table not in noise]
    return [each for each in found if each.table not in logs or _is_asked(each, inputs)]


def _is_asked(difference: Difference, inputs: Sequence[PageMove]) -> bool:
    return any(move.kind == "fill" and _shows(difference, move) for move in inputs)


def _aligned(first: Sequence[Difference], other: Sequence[Difference]) -> list[Difference]:
    """The differences of another time, in the order of the first."""
    left = list(other)
    found = []
    for each in first:
        partner = max(
            (one for one in left if _same_place(each, one)), default=None,
            key=lambda one: likeness(one.after or {}, each.after or {}),
        )  # fmt: skip
        if partner is None:
            raise NoCheck(OTHERWISE)
        left.remove(partner)
        found.append(partner)
    if left:
        raise NoCheck(OTHERWISE)
    return found


def _same_place(one: Difference, other: Difference) -> bool:
    return (one.table, one.kind, one.before) == (other.table, other.kind, other.before)


def _change(
    times: Sequence[Difference], all_of_it: Sequence[Difference], done: Sequence[StateChange],
    inputs: Sequence[PageMove],
    names: Collection[str],
) -> Change:  # fmt: skip
    """A row as it came out, time by time."""
    first = times[0]
    rows = done[0].before.get(first.table, ())
    where = {} if first.before is None else _identity(first.before, rows, names)
    if first.after is None:
        return Change(first.table, where, gone=True)
    is_: dict[str, str] = {}
    contains: dict[str, tuple[str, ...]] = {}
    opened: list[str] = []
    today: dict[str, str] = {}
    changed = dict.fromkeys(name for each in times for name in each.changed_fields)
    for name in first.after if first.before is None else changed:
        values = [(each.after or {}).get(name) for each in times]
        value = values[0]
        if value is None or None in values:
            raise NoCheck("a field is no longer there")
        texts = tuple(
            dict.fromkeys(
                move.value.strip() for move in inputs
                if move.kind == "fill" and all(way_of(each or "", move) == "contains" for each in values)
            )
        )  # fmt: skip
        asked = any(way_of(value, move) == "is" for move in inputs)
        is_offered = first.before is None and _is_day(value)
        told = asked or (not is_offered and (value in _known(rows, name) or not tells_time(value, done)))
        if len(set(values)) == 1 and told and (asked or not _counts_up(first, name, all_of_it, rows)):
            is_[name] = value
        elif texts:
            contains[name] = texts
        elif form := _form_of_day(values, done):
            today[name] = form
        else:
            opened.append(name)
    return Change(first.table, where, False, is_, contains, tuple(opened), today)


def _form_of_day(values: Sequence[str | None], done: Sequence[StateChange]) -> str:
    """Form of the day that a field had each time it was done; empty: it says something else, or more."""
    for form in _DATES:
        told = [{each.begun.strftime(form), each.ended.strftime(form)} for each in done]
        if all(value in days for value, days in zip(values, told, strict=True)):
            return form
    return ""


def _is_day(text: str) -> bool:
    """Whether it is a day, whenever that is."""
    return not text.isdigit() and any(_is_written(text, form) for form in _DATES)


def _is_written(text: str, form: str) -> bool:
    try:
        datetime.datetime.strptime(text, form)
    except ValueError:
        return False
    return True


def _known(rows: Sequence[Row], name: str) -> set[str]:
    return {row.get(name, "") for row in rows}


def _counts_up(each: Difference, name: str, all_of_it: Sequence[Difference], rows: Sequence[Row]) -> bool:
    """Whether a new row's number goes on from those before, and nothing else that came says the same number."""
    value = (each.after or {}).get(name, "")
    known = [row.get(name, "") for row in rows]
    if each.before is not None or not known or not all(text.isdigit() for text in (value, *known)):
        return False
    beyond = int(value) - max(map(int, known))
    is_next = len(set(known)) == len(known) and (beyond > 0 if name in COUNTED else beyond == 1 and len(known) > 2)
    others = [other for other in all_of_it if other is not each]
    return is_next and not any(value in (other.after or {}).values() for other in others)


def _identity(row: Row, rows: Sequence[Row], names: Collection[str]) -> Mapping[str, str]:
    """Few fields that no other row has like that: what the words name before what else tells a row."""
    said = {name.lower() for name in names}
    fields = sorted(
        (name for name, value in row.items() if value and len(value) <= LONGEST_NAME),
        key=lambda name: (
            row[name].lower() not in said, name not in IDENTITY,
            IDENTITY.index(name) if name in IDENTITY else 0,
        ),
    )  # fmt: skip
    for size in (1, 2, 3):
        for chosen in itertools.combinations(fields, size):
            if sum(all(other.get(name) == row[name] for name in chosen) for other in rows) == 1:
                return {name: row[name] for name in chosen}
    if sum(other == row for other in rows) == 1:
        return dict(row)
    raise NoCheck("its row is not the only one that is like it")


def _shows(difference: Difference, move: PageMove) -> bool:
    """Whether a field that came or changed holds what the move put in."""
    row = difference.after or {}
    return any(way_of(row[name], move) is not None for name in difference.changed_fields if name in row)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?", text) is not None
