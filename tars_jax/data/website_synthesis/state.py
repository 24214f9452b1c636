"""A site's state as tables, what differs between two of them, and checks that are data.

Whatever JSON a site gives becomes tables of flat rows: a list of objects is a table; an object of objects is one whose
rows have their key as the field `key`; values that stand alone are rows of `key` and `value`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tars_jax import InputError

Row: TypeAlias = Mapping[str, str]
Tables: TypeAlias = Mapping[str, Sequence[Row]]

WAYS = ("is", "contains")
LONGEST = 20_000  # characters of a value that are compared


@dataclasses.dataclass(frozen=True)
class Condition:
    """What a field of a row must be."""

    field: str
    way: str  # one of WAYS
    value: str

    def __post_init__(self) -> None:
        if self.way not in WAYS:
            raise InputError(f"way of a condition must be one of {', '.join(WAYS)}; got {self.way!r}")

    def holds(self, row: Row) -> bool:
        found = row.get(self.field)
        return found is not None and (found == self.value if self.way == "is" else self.value in found)


@dataclasses.dataclass(frozen=True)
class Expectation:
    """How many rows of a table meet all the conditions. A check is a list of these."""

    table: str
    conditions: tuple[Condition, ...]  # none: all rows
    count: int

    def holds(self, tables: Tables) -> bool:
        return matching(tables, self.table, self.conditions) == self.count

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Expectation:
        conditions = tuple(Condition(**each) for each in record["conditions"])
        return cls(record["table"], conditions, record["count"])


Check: TypeAlias = tuple[Expectation, ...]


@dataclasses.dataclass(frozen=True)
class Difference:
    """A row that came, went or changed."""

    table: str
    before: Row | None
    after: Row | None

    @property
    def kind(self) -> str:
        return "created" if self.before is None else "deleted" if self.after is None else "changed"

    @property
    def changed_fields(self) -> tuple[str, ...]:
        before, after = self.before or {}, self.after or {}
        return tuple(name for name in {**before, **after} if before.get(name) != after.get(name))


def to_tables(state: Any) -> dict[str, list[Row]]:
    """The tables of any JSON."""
    tables: dict[str, list[Row]] = {}
    _collect("", state, tables)
    return tables


def is_met(check: Check, tables: Tables) -> bool:
    """Whether a state is what the check expects; a check without expectations is never met."""
    return bool(check) and all(each.holds(tables) for each in check)


def matching(tables: Tables, table: str, conditions: Sequence[Condition]) -> int:
    """How many rows of a table meet the conditions."""
    return sum(all(condition.holds(row) for condition in conditions) for row in tables.get(table, ()))


def differences(before: Tables, after: Tables) -> list[Difference]:
    """What is different, rows that changed paired with what they were: by `key` or `id`, else by most equal fields."""
    found = []
    for table in sorted({*before, *after}):
        gone, come = _unmatched(before.get(table, ()), after.get(table, ()))
        pairs = []
        for new in come:
            old = max(gone, key=lambda row: _likeness(row, new), default=None)
            if old is not None and _likeness(old, new) >= 0.5:
                gone.remove(old)
                pairs.append(Difference(table, old, new))
            else:
                pairs.append(Difference(table, None, new))
        found += [*pairs, *(Difference(table, old, None) for old in gone)]
    return found


def fingerprint(tables: Tables) -> str:
    """The same for the same tables, whatever the order of their rows."""
    rows = {table: sorted(json.dumps(row, sort_keys=True) for row in found) for table, found in tables.items() if found}
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


def _collect(path: str, value: Any, tables: dict[str, list[Row]]) -> None:
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    if isinstance(value, list) and path:
        tables[path] = [_row(each) for each in value]
    elif isinstance(value, Mapping) and path and inner and all(isinstance(each, Mapping) for each in inner):
        tables[path] = [{"key": str(key), **_row(each)} for key, each in value.items()]
    elif isinstance(value, Mapping):
        for key, each in value.items():
            if isinstance(each, Mapping | list):
                _collect(f"{path}.{key}".lstrip("."), each, tables)
            else:
                tables.setdefault(path or "values", []).append({"key": str(key), "value": _text(each)})
    else:
        tables.setdefault(path or "values", []).append({"key": "", "value": _text(value)})


def _row(value: Any) -> Row:
    if not isinstance(value, Mapping):
        return {"value": _text(value)}
    row: dict[str, str] = {}
    for key, each in value.items():
        if isinstance(each, Mapping):
            row.update({f"{key}.{inner}": text for inner, text in _row(each).items()})
        else:
            row[str(key)] = _text(each)
    return row


def _text(value: Any) -> str:
    """As checks of `tasks/websites` compare values."""
    if value is None:
        return ""
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        value = int(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").split("\n")).strip()[:LONGEST]


def _unmatched(before: Sequence[Row], after: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The rows that are only before, and those that are only after."""

    def counted(rows: Sequence[Row]) -> Counter[str]:
        return Counter(json.dumps(row, sort_keys=True) for row in rows)

    old, new = counted(before), counted(after)
    gone = [json.loads(text) for text in (old - new).elements()]
    come = [json.loads(text) for text in (new - old).elements()]
    return gone, come


def _likeness(one: Row, other: Row) -> float:
    """1 for rows of the same key; 0 where keys differ; else the share of equal fields."""
    for name in ("key", "id", "uuid", "name"):
        if name in one and name in other and (name != "name" or one[name] == other[name]):
            return float(one[name] == other[name])
    names = {*one, *other}
    return sum(one.get(name) == other.get(name) for name in names) / max(1, len(names))
