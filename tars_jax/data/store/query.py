"""Queries of a store: conditions on its episodes as text, from a flag.

    cycle>=2 and verdict=1 and environment=maze*
    source=annotation, parent!='', set=sft

Conditions are joined by `and` or a comma. What a field takes is in `FIELDS`: texts and sets are compared by = and !=,
with a * for any text; numbers by < <= > >=, too; what is said or not by 0 and 1, and a verdict may be `none`, which is
no value. != is whatever = is not, episodes without a value among it. Quotes hold what has blanks or commas; `set` and
`batch` beside each other are of one assignment.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from tars_jax import InputError
from tars_jax.data.store.events import LARGEST
from tars_jax.data.store.records import PURPOSES, SOURCES
from tars_jax.data.store.verdicts import KINDS
from tars_jax.plugins import did_you_mean
from tars_jax.trajectory import Outcome

_CONDITION = re.compile(
    r"""\s*(?P<field>\w+)\s*(?P<sign>!=|<=|>=|=|<|>)\s*(?P<value>'[^']*'|"[^"]*"|[^\s,'"=<>!][^\s,'"]*)"""
)
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
_JOIN = re.compile(r"\s*,|\s+and(?=\s)", re.IGNORECASE)
_EXAMPLE = "conditions such as 'cycle>=2 and verdict=1'"
_EQUAL, _ORDERED = ("=", "!="), ("=", "!=", "<", "<=", ">", ">=")
_BITS = {"0": 0, "1": 1, "false": 0, "true": 1}


class FieldKind(NamedTuple):
    """Operators and values that fields of one kind are compared with."""

    signs: tuple[str, ...]
    takes: str
    read: Callable[[str, bool], Any]  # a word, and whether it is quoted; raises ValueError


def _word(text: str, quoted: bool) -> str:
    return "" if text.lower() == "none" and not quoted else text


def _one_of(*words: str) -> FieldKind:
    def read(text: str, quoted: bool) -> str:
        if "*" not in text and _word(text, quoted) not in words:
            raise ValueError
        return _word(text, quoted)

    return FieldKind(_EQUAL, f"one of {', '.join(word or 'none' for word in words)}", read)


def _whole(text: str, quoted: bool) -> int:
    if not re.fullmatch("[+-]?[0-9]{1,19}", text) or abs(int(text)) > LARGEST:
        raise ValueError
    return int(text)


def _real(text: str, quoted: bool) -> float:
    if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        raise ValueError
    return float(text)


def _bit(text: str, quoted: bool) -> int:
    if text.lower() not in _BITS:
        raise ValueError
    return _BITS[text.lower()]


def _or_none(read: Callable[[str, bool], Any]) -> Callable[[str, bool], Any]:
    return lambda text, quoted: None if text.lower() == "none" and not quoted else read(text, quoted)


TEXT = FieldKind(_EQUAL, "a text", _word)
NAME = FieldKind(_EQUAL, "a name", lambda text, quoted: text)
WHOLE = FieldKind(_ORDERED, "a whole number", _whole)
FIELDS: dict[str, FieldKind] = {
    "id": TEXT, "task": TEXT, "start": TEXT, "environment": TEXT, "weights": TEXT, "parent": TEXT, "run": TEXT,
    "stage": TEXT,
    "source": _one_of(*SOURCES), "purpose": _one_of(*PURPOSES),
    "outcome": _one_of(*(outcome.value for outcome in Outcome)), "judged_by": _one_of(*KINDS, ""),
    "cycle": WHOLE, "steps": WHOLE, "tokens": WHOLE, "version": WHOLE,
    "seed": FieldKind(_ORDERED, "a whole number or none", _or_none(_whole)),
    "reward": FieldKind(_ORDERED, "a number", _real),
    "verdict": FieldKind(_EQUAL, "0, 1 or none", _or_none(_bit)),
    "contradictory": FieldKind(_EQUAL, "0 or 1", _bit), "held_out": FieldKind(_EQUAL, "0 or 1", _bit),
    "set": NAME, "batch": NAME,  # of the sets that it was assigned to
}  # fmt: skip
_MEMBERSHIP = {"set": "name", "batch": "batch"}
# Its task is, or an evaluation has recorded the same episode; lines of earlier versions do not say which one it is.
HELD_OUT = (
    "(EXISTS (SELECT 1 FROM held_out WHERE held_out.task = episodes.task) OR episodes.purpose = 'training' AND "
    "episodes.played != '' AND EXISTS (SELECT 1 FROM episodes AS others WHERE others.played = episodes.played AND "
    "others.purpose != 'training'))"
)
_COLUMNS = {"held_out": HELD_OUT}


class Comparison(NamedTuple):
    field: str
    sign: str
    value: Any


class QueryCondition(NamedTuple):
    sql: str  # of the table `episodes`
    values: tuple[Any, ...]
    comparisons: tuple[Comparison, ...] = ()

    @property
    def fields(self) -> frozenset[str]:
        """Fields that the condition names."""
        return frozenset(each.field for each in self.comparisons)


def parse(where: str) -> QueryCondition:
    """An empty text is all episodes. Raises InputError for what is none, by field, operator and what these take."""
    if not where.strip():
        return QueryCondition("1", ())
    comparisons: list[Comparison] = []
    place = 0
    while True:
        found = _CONDITION.match(where, place)
        if found is None:
            raise InputError(f"config.where must be {_EXAMPLE}; got {where!r}, at {where[place:].strip()!r}")
        comparisons.append(_comparison(found["field"], found["sign"], found["value"]))
        place = found.end()
        if not where[place:].strip():
            break
        if (join := _JOIN.match(where, place)) is None:
            raise InputError(
                f"config.where must have 'and' or a comma between conditions; got {where!r}, at "
                f"{where[place:].strip()!r}"
            )
        place = join.end()
    clauses = [_sql(each) for each in comparisons if each.field not in _MEMBERSHIP or each.sign == "!="]
    clauses += _memberships([each for each in comparisons if each.field in _MEMBERSHIP and each.sign == "="])
    sql = " AND ".join(clause for clause, _ in clauses)
    return QueryCondition(sql, tuple(value for _, values in clauses for value in values), tuple(comparisons))


def for_training(where: str) -> str:
    """The query without episodes of evaluations and of held-out tasks, unless it asks for them: by `purpose` or by
    `held_out`. Whoever exports episodes, or reads them to train on, asks this."""
    condition = parse(where)
    evaluation = "purpose" in condition.fields and admits(condition, "purpose", "evaluation")
    held_out = "held_out" in condition.fields and admits(condition, "held_out", 1)
    added = [
        *(["purpose=training"] if "purpose" not in condition.fields and not held_out else []),
        *(["held_out=0"] if "held_out" not in condition.fields and not evaluation else []),
    ]
    return " and ".join(filter(None, [where.strip(), *added]))


def admits(condition: QueryCondition, field: str, value: Any) -> bool:
    """Whether an episode with this value may be meant."""

    def is_met(each: Comparison) -> bool:
        if isinstance(each.value, str) and "*" in each.value:
            return bool(re.fullmatch(".*".join(map(re.escape, each.value.split("*"))), value)) == (each.sign == "=")
        return bool(each.value == value) == (each.sign == "=")

    return all(is_met(each) for each in condition.comparisons if each.field == field)


def _comparison(field: str, sign: str, written: str) -> Comparison:
    if (kind := FIELDS.get(field)) is None:
        known = list(FIELDS)
        raise InputError(
            f"config.where must compare one of {', '.join(known)}; got {field!r}{did_you_mean(field, known)}"
        )
    if sign not in kind.signs:
        raise InputError(
            f"config.where must compare {field} by {', '.join(kind.signs[:-1])} or {kind.signs[-1]} with {kind.takes}; "
            f"got {sign}"
        )
    quoted = written[0] in "'\""
    text = written[1:-1] if quoted else written
    try:
        value = kind.read(text, quoted)
    except ValueError:
        raise InputError(f"config.where must compare {field} with {kind.takes}; got {field}{sign}{written}") from None
    if value is None and sign not in _EQUAL:
        raise InputError(f"config.where must compare {field} with none by = or !=; got {sign}")
    return Comparison(field, sign, value)


Clause = tuple[str, tuple[Any, ...]]


def _sql(each: Comparison) -> Clause:
    if each.field in _MEMBERSHIP:
        ((inside, values),) = _memberships([each])
        return f"NOT {inside}", values
    return _compared(_COLUMNS.get(each.field, each.field), each.sign, each.value)


def _compared(column: str, sign: str, value: Any) -> Clause:
    if isinstance(value, str) and "*" in value:
        pattern = value.replace("[", "[[]").replace("?", "[?]")
        return f"{column} {'NOT ' * (sign == '!=')}GLOB ?", (pattern,)
    return f"{column} { {'=': 'IS', '!=': 'IS NOT'}.get(sign, sign) } ?", (value,)


def _memberships(asked: list[Comparison]) -> list[Clause]:
    """Each set together with all batches, or, where no set is named, each batch."""
    batches = [each for each in asked if each.field == "batch"]
    together = [[each, *batches] for each in asked if each.field == "set"] or [[each] for each in batches]
    clauses = []
    for group in together:
        parts = [_compared(f"members.{_MEMBERSHIP[each.field]}", "=", each.value) for each in group]
        inside = " AND ".join(["members.episode = episodes.id", *(sql for sql, _ in parts)])
        values = tuple(value for _, own in parts for value in own)
        clauses.append((f"(EXISTS (SELECT 1 FROM members WHERE {inside}))", values))
    return clauses
