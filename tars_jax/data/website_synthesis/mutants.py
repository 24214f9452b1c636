"""The adversary: wrong ends of a task, made from its right one, of which a check may pass none.

Pure, over tables. Each kind says what somebody might do in place of the task: another object of the same kind, a
similar value, a part left out, twice, something beside it, everything else spoiled or deleted, a text in another field,
nothing, undone again. What the effect leaves open is not touched by itself, but what was asked for always is: an effect
that leaves that open is caught.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from tars_jax.data.website_synthesis.effects import way_of
from tars_jax.data.website_synthesis.moves import PageMove
from tars_jax.tasks.websites.effect import ALL, Change, Effect
from tars_jax.tasks.websites.tables import Difference, Row, Tables, differences, fingerprint

OTHER = "something else"
MOST_ALIKE = 5  # other rows that a kind is tried on, of a reader

Changed: TypeAlias = dict[str, list[Row]]


@dataclasses.dataclass(frozen=True)
class Mutant:
    kind: str
    tables: Tables


@dataclasses.dataclass(frozen=True)
class RightEnd:
    """The right end of a task."""

    before: Tables
    after: Tables
    effect: Effect
    inputs: tuple[PageMove, ...] = ()

    @property
    def readers(self) -> list[str]:
        """Names of readers whose rows are not open."""
        return [name for name in self.after if ALL not in self.effect.open.get(name, ())]

    def closed(self, reader: str, row: Row) -> list[str]:
        """The fields of a row beside the task that are to stay."""
        return [name for name in row if name not in self.effect.open.get(reader, ())]

    @property
    def differences(self) -> list[Difference]:
        return [each for each in differences(self.before, self.after) if each.table in self.readers]


def mutants(end: RightEnd) -> Iterator[Mutant]:
    """Each is another state than the right one, but for what the effect leaves open."""
    seen = {fingerprint(end.after)}
    for kind, make in KINDS.items():
        for tables in make(end):
            mark = fingerprint(tables)
            if mark not in seen:
                seen.add(mark)
                yield Mutant(kind, tables)


def passing(end: RightEnd) -> tuple[int, list[str]]:
    """Number of wrong ends that were tried, and the kinds of those that the effect accepts."""
    passed: list[str] = []
    count = 0
    for mutant in mutants(end):
        count += 1
        if not end.effect.wrong(end.before, mutant.tables):
            passed.append(mutant.kind)
    return count, passed


# ---- kinds


def _nothing(end: RightEnd) -> Iterator[Tables]:
    yield end.before


def _undone(end: RightEnd) -> Iterator[Tables]:
    """All is as it was, but what is open."""
    yield {name: end.before.get(name, ()) if name in end.readers else rows for name, rows in end.after.items()}


def _part_left_out(end: RightEnd) -> Iterator[Tables]:
    """One change is not made, or one field of it."""
    found = end.differences
    for each in found:
        yield _with(end.after, each.table, each.after, each.before)
        if each.before is None or each.after is None:
            continue
        for name in each.changed_fields:
            if name in each.before and _is_closed(end, each, name):
                yield _with(end.after, each.table, each.after, {**each.after, name: each.before[name]})


def _input_left_out(end: RightEnd) -> Iterator[Tables]:
    """A text that was asked for is nowhere; where there are several in one field, one of them."""
    for move in end.inputs:
        if move.kind == "fill" and len(move.value.strip()) > 1:
            yield _with_other_input(end, move, "")


def _another_object(end: RightEnd) -> Iterator[Tables]:
    """The same is done to another row of its kind."""
    for each in end.differences:
        others = [row for row in end.before.get(each.table, ()) if row != each.before]
        others = [row for row in others if row in end.after.get(each.table, ())]
        for other in others[:MOST_ALIKE]:
            if each.before is None and each.after is not None:  # what is new belongs to another
                for name in each.after:
                    if name in other and other[name] != each.after[name] and _is_closed(end, each, name):
                        yield _with(end.after, each.table, each.after, {**each.after, name: other[name]})
                continue
            put_back = _with(end.after, each.table, each.after, each.before)
            if each.after is None:
                yield _with(put_back, each.table, other, None)
            else:
                done = {name: each.after[name] for name in each.changed_fields if name in each.after}
                yield _with(put_back, each.table, other, {**other, **done})


def _similar_value(end: RightEnd) -> Iterator[Tables]:
    partial = {text for each in end.effect.changes for texts in each.contains.values() for text in texts}
    for move in end.inputs:
        if move.kind == "fill" and (said := move.value.strip()):
            for similar in similar_values(said):
                if said in partial and said in similar:
                    continue  # the rest of that text is open
                yield _with_other_input(end, move, similar)
    for each in end.differences:
        for name in each.changed_fields:
            if each.after is not None and name in each.after and _is_closed(end, each, name):
                column = [row.get(name, "") for row in end.after.get(each.table, ())]
                others = dict.fromkeys([*similar_values(each.after[name]), *column[:MOST_ALIKE]])
                for value in others:
                    yield _with(end.after, each.table, each.after, {**each.after, name: value})


def _another_field(end: RightEnd) -> Iterator[Tables]:
    """Mutants: what was asked for stands in another field of its row, in place of its own or beside it."""
    for each in end.differences:
        row = each.after or {}
        shown = [name for name in each.changed_fields if name in row and _is_input(end, row[name])]
        for name in shown:
            for other in row:
                if other == name or not _is_closed(end, each, other):
                    continue
                empty = (each.before or {}).get(name, "")
                yield _with(end.after, each.table, row, {**row, other: row[name], name: row[other]})
                yield _with(end.after, each.table, row, {**row, other: row[name], name: empty})
                yield _with(end.after, each.table, row, {**row, other: row[name]})


def _twice(end: RightEnd) -> Iterator[Tables]:
    for each in end.differences:
        if each.before is None and each.after is not None:
            yield _with(end.after, each.table, None, each.after)


def _beside(end: RightEnd) -> Iterator[Tables]:
    """One row more that is other than it was, that came, or that went."""
    for reader, row in _bystanders(end, MOST_ALIKE):
        yield _with(end.after, reader, row, None)
        yield _with(end.after, reader, None, row)
        for name in end.closed(reader, row):
            yield _with(end.after, reader, row, {**row, name: f"{row[name]} {OTHER}".strip()})
            yield _with(end.after, reader, row, {**row, name: f"{row[name]}\n"})
    for reader in end.readers:
        names = next((tuple(row) for row in (*end.before.get(reader, ()), *end.after[reader])), ("name",))
        yield _with(end.after, reader, None, dict.fromkeys(names, OTHER))


def _rest_overwritten(end: RightEnd) -> Iterator[Tables]:
    """Every other row says something else; and what the changed rows keep."""
    texts = [move.value.strip() for move in end.inputs if move.kind == "fill"] + [OTHER]
    bystanders = list(_bystanders(end))
    for text in (texts[0], OTHER):
        tables: Tables = end.after
        for reader, row in bystanders:
            tables = _with(tables, reader, row, {**row, **dict.fromkeys(end.closed(reader, row), text)})
        yield tables
    for each in end.differences:
        if each.after is not None and each.before is not None:
            kept = [n for n in each.after if n not in each.changed_fields and n in end.closed(each.table, each.after)]
            yield _with(end.after, each.table, each.after, {**each.after, **dict.fromkeys(kept, OTHER)})
            for name in kept:
                yield _with(end.after, each.table, each.after, {**each.after, name: OTHER})


def _rest_deleted(end: RightEnd) -> Iterator[Tables]:
    bystanders = list(_bystanders(end))
    for chosen in (end.readers, *([reader] for reader in end.readers)):
        tables: Tables = end.after
        for reader, row in bystanders:
            if reader in chosen:
                tables = _with(tables, reader, row, None)
        yield tables
    yield {name: [] if name in end.readers else rows for name, rows in end.after.items()}


KINDS: Mapping[str, Callable[[RightEnd], Iterator[Tables]]] = {
    "nothing is done": _nothing,
    "it is undone again": _undone,
    "a part is left out": _part_left_out,
    "a text is left out": _input_left_out,
    "it is done to another": _another_object,
    "a value is only similar": _similar_value,
    "a text is in another field": _another_field,
    "it is done twice": _twice,
    "something is done beside it": _beside,
    "everything else is overwritten": _rest_overwritten,
    "everything else is deleted": _rest_deleted,
}


def similar_values(value: str) -> list[str]:
    """Values that somebody might have put there by mistake: never the same."""
    if value.lstrip("-").isdigit():
        return [str(int(value) + 1), str(-int(value)) if int(value) else "1", f"{value}0", ""]
    letters = [n for n, sign in enumerate(value) if sign.isalpha()]
    found = [value[:-1], f"{value}s", f"{value} {value}".strip(), value.swapcase(), value.replace(" ", ""), OTHER, ""]
    if letters:
        middle = letters[len(letters) // 2]
        found.append(value[:middle] + ("x" if value[middle].lower() != "x" else "y") + value[middle + 1 :])
    return [each for each in dict.fromkeys(found) if each.strip() != value]


def _bystanders(end: RightEnd, most: int = 1 << 30) -> Iterator[tuple[str, Row]]:
    """Rows that have nothing to do with the task, of readers that are not open."""
    touched = [(each.table, each.after) for each in end.differences]
    for reader in end.readers:
        found = [row for row in end.after[reader] if (reader, row) not in touched]
        yield from ((reader, row) for row in found[:most])


def _change_of(end: RightEnd, each: Difference) -> Change | None:
    """The change of the effect that a difference is."""
    for change in end.effect.changes:
        old = None if each.before is None else {k: each.before[k] for k in end.closed(each.table, each.before)}
        if change.read == each.table and bool(change.where) == (old is not None):
            if each.after is None:
                if change.gone and change.finds(old or {}):
                    return change
            elif not change.gone and change.finds(old or {}) and change.fits(old, _closed_row(end, each)):
                return change
    return None


def _closed_row(end: RightEnd, each: Difference) -> Row:
    row = each.after or {}
    return {name: row[name] for name in end.closed(each.table, row)}


def _is_closed(end: RightEnd, each: Difference, name: str) -> bool:
    """Whether the effect says what a field of a row is then."""
    if name in end.effect.open.get(each.table, ()):
        return False
    change = _change_of(end, each)
    return change is None or (name not in change.open and name not in change.contains)


def _is_input(end: RightEnd, value: str) -> bool:
    return any(move.kind == "fill" and way_of(value, move) is not None for move in end.inputs)


def _with_other_input(end: RightEnd, move: PageMove, text: str) -> Tables:
    """The right end with another text wherever one that was put in came or changed something."""

    def replaced(value: str) -> str:
        return text if way_of(value, move) == "is" else value.replace(move.value.strip(), text)

    tables: Tables = end.after
    for each in end.differences:
        if each.after is not None:
            row = {n: replaced(v) if n in each.changed_fields else v for n, v in each.after.items()}
            tables = _with(tables, each.table, each.after, row)
    return tables


def _with(tables: Tables, reader: str, old: Row | None, new: Row | None) -> Tables:
    """The tables with one row of a reader in place of another; None: none."""
    rows: Sequence[Row] = tables.get(reader, ())
    kept = list(rows)
    if old is not None:
        kept.remove(old)
    if new is not None:
        kept.append(new)
    return {**tables, reader: kept}
