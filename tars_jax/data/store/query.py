"""Which episodes: conditions as text, from a flag.

    cycle>=2 and verdict=1 and environment=maze*
    source=annotation, parent!='', set=sft

Conditions are joined by `and` or a comma. A field is compared by = != < <= > >=; a text with a * in it is a pattern.
`none` is no value: `verdict=none` are episodes on which nothing counts. Quotes hold what has blanks or commas.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from tars_jax import InputError

TEXTS = (
    "id", "task", "start", "environment", "source", "weights", "parent", "run", "purpose", "stage", "outcome",
    "judged_by",
)  # fmt: skip
NUMBERS = ("seed", "cycle", "reward", "steps", "tokens", "verdict", "contradictory", "version")
MEMBERSHIP = ("set", "batch")  # of the sets that it was assigned to
FIELDS = (*TEXTS, *NUMBERS, *MEMBERSHIP, "held_out")

_CONDITION = re.compile(
    r"""\s*(?P<field>\w+)\s*(?P<sign>!=|<=|>=|=|<|>)\s*(?P<value>'[^']*'|"[^"]*"|[^\s,]*)\s*(?P<join>,|and\b|$)""",
    re.IGNORECASE,
)
_HELD_OUT = "(EXISTS (SELECT 1 FROM held_out WHERE held_out.task = episodes.task))"


class Condition(NamedTuple):
    sql: str
    values: tuple[Any, ...]
    fields: frozenset[str] = frozenset()  # that it names


def parse(where: str) -> Condition:
    """Of the table `episodes`; an empty text is all of them. Raises InputError for what is no condition."""
    if not where.strip():
        return Condition("1", ())
    clauses: list[Condition] = []
    fields: set[str] = set()
    place, more = 0, True
    while more:
        found = _CONDITION.match(where, place)
        if found is None or found.end() == place:
            raise InputError(
                f"config.where must be conditions such as 'cycle>=2 and verdict=1'; got {where!r}, at {where[place:]!r}"
            )
        clauses.append(_clause(found["field"], found["sign"], found["value"]))
        fields.add(found["field"])
        place, more = found.end(), bool(found["join"])
    if where[place:].strip():
        raise InputError(f"config.where must have 'and' between conditions; got {where!r}, at {where[place:]!r}")
    values = tuple(value for clause in clauses for value in clause.values)
    return Condition(" AND ".join(clause.sql for clause in clauses), values, frozenset(fields))


def _clause(field: str, sign: str, written: str) -> Condition:
    if field not in FIELDS:
        raise InputError(f"config.where must compare one of {', '.join(FIELDS)}; got {field!r}")
    quoted = written[:1] in ("'", '"')
    text = written[1:-1] if quoted else written
    if field == "held_out":
        yes = _number(field, text) != 0
        return Condition(_HELD_OUT if yes == (sign == "=") else f"NOT {_HELD_OUT}", ())
    if field in MEMBERSHIP:
        name = {"set": "name", "batch": "batch"}[field]
        inside = f"(EXISTS (SELECT 1 FROM members WHERE members.episode = episodes.id AND members.{name} = ?))"
        if sign not in ("=", "!="):
            raise InputError(f"config.where must compare {field} by = or !=; got {sign}")
        return Condition(inside if sign == "=" else f"NOT {inside}", (text,))
    if text.lower() == "none" and not quoted:
        if sign not in ("=", "!="):
            raise InputError(f"config.where must compare {field} with none by = or !=; got {sign}")
        return Condition(f"{field} IS {'NOT ' * (sign == '!=')}NULL", ())
    if field in NUMBERS:
        return Condition(f"{field} {sign} ?", (_number(field, text),))
    if "*" in text and sign in ("=", "!="):
        return Condition(f"{field} {'NOT ' * (sign == '!=')}GLOB ?", (text.replace("[", "[[]").replace("?", "[?]"),))
    return Condition(f"{field} {sign} ?", (text,))


def _number(field: str, text: str) -> float:
    named = {"true": 1.0, "false": 0.0}
    try:
        return named[text.lower()] if text.lower() in named else float(text)
    except ValueError:
        raise InputError(f"config.where must compare {field} with a number; got {text!r}") from None
