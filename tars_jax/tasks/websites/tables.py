"""A site's state as tables of flat rows of texts, and what differs between two of them.

Whatever JSON a site gives becomes tables: a list of objects is a table; an object of objects is one whose rows have
their key as the field `key`; values that stand alone are rows of `key` and `value`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from tars_jax.sandbox.failures import SandboxFailure

Row: TypeAlias = Mapping[str, str]
Tables: TypeAlias = Mapping[str, Sequence[Row]]

KEYS = ("key", "id", "uuid", "name")


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


def plain(value: Any) -> str:
    """The text that a value is compared as: 1, 1.0, True and "1" are one, and so are null and the empty text.

    A text is kept whole, but that its lines end in one way: browsers send a box's lines in another than programs keep.
    """
    if value is None:
        return ""
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        value = int(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text.replace("\r\n", "\n")


def visible_text(text: str) -> str:
    """A text without what nobody sees of it: empty lines at its ends, and blanks at the ends of several lines.

    That is what a text that is asked for is compared by; everything else is compared whole.
    """
    text = text.strip("\n")
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n") if "\n" in text else text


def differences(before: Tables, after: Tables) -> list[Difference]:
    """Differences between tables, rows that changed paired with what they were: by `key` or `id`, else by most equal
    fields."""
    found = []
    for table in sorted({*before, *after}):
        gone, come = unmatched(before.get(table, ()), after.get(table, ()))
        alike = sorted(
            ((likeness(old, new), -i, -j) for i, old in enumerate(gone) for j, new in enumerate(come)), reverse=True
        )
        pairs: dict[int, int] = {}
        for share, i, j in alike:  # the most alike first
            if share >= 0.5 and -j not in pairs and -i not in pairs.values():
                pairs[-j] = -i
        found += [Difference(table, gone[pairs[j]] if j in pairs else None, new) for j, new in enumerate(come)]
        found += [Difference(table, old, None) for i, old in enumerate(gone) if i not in pairs.values()]
    return found


def unmatched(before: Sequence[Row], after: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The rows that are only before, and those that are only after, each as often as it is there more."""
    old, new = Counter(map(_frozen, before)), Counter(map(_frozen, after))
    return [dict(each) for each in (old - new).elements()], [dict(each) for each in (new - old).elements()]


def fingerprint(tables: Tables) -> str:
    """A fingerprint of tables, whatever the order of their rows."""
    rows = {table: sorted(json.dumps(row, sort_keys=True) for row in found) for table, found in tables.items() if found}
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


def likeness(one: Row, other: Row) -> float:
    """1 for rows of the same key; 0 where keys differ; else the share of equal fields."""
    for name in KEYS:
        if name in one and name in other and (name != "name" or one[name] == other[name]):
            return float(one[name] == other[name])
    names = {*one, *other}
    return sum(one.get(name) == other.get(name) for name in names) / max(1, len(names))


def _frozen(row: Row) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(row.items()))


def _collect(path: str, value: Any, tables: dict[str, list[Row]]) -> None:
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    if isinstance(value, list | tuple) and path:
        tables[path] = [_row(each) for each in value]
    elif isinstance(value, Mapping) and path and inner and all(isinstance(each, Mapping) for each in inner):
        tables[path] = [{"key": str(key), **_row(each)} for key, each in value.items()]
    elif isinstance(value, Mapping):
        for key, each in value.items():
            if isinstance(each, Mapping | list | tuple):
                _collect(f"{path}.{key}".lstrip("."), each, tables)
            else:
                tables.setdefault(path or "values", []).append({"key": str(key), "value": plain(each)})
    else:
        tables.setdefault(path or "values", []).append({"key": "", "value": plain(value)})


def _row(value: Any) -> Row:
    if not isinstance(value, Mapping):
        return {"value": plain(value)}
    row: dict[str, str] = {}
    for key, each in value.items():
        if isinstance(each, Mapping):
            row.update({f"{key}.{inner}": text for inner, text in _row(each).items()})
        else:
            row[str(key)] = plain(each)
    return row


MOST_READS = 8
PAUSE_S = 0.05  # real, before a read that follows one that differed; each pause is twice as long


class HasState(Protocol):
    async def snapshot(self) -> Mapping[str, Any]: ...


async def steady_tables(site: HasState) -> Tables:
    """Raises SandboxFailure("website") where the state never stands still, or cannot be read whole."""
    last, tables = "", to_tables(await site.snapshot())
    pause = PAUSE_S
    for number in range(MOST_READS - 1):
        last, tables = fingerprint(tables), to_tables(await site.snapshot())
        if fingerprint(tables) == last:
            return tables
        if number:
            await asyncio.sleep(pause)
            pause *= 2
    raise SandboxFailure("website", f"its state changed by itself between {MOST_READS} reads")
