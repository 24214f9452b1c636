"""From what a solution did to a site's state, twice, to the check that a task is verified by.

What was asked for must be found in the state: every text that was typed stands in a row that came or changed. Fields
that nobody asked for stay as they came out both times, unless their names say that they count or date: a task is not
done by whoever spoils the rest of a row.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from tars_jax.data.website_synthesis.moves import Move
from tars_jax.data.website_synthesis.state import (
    Check,
    Condition,
    Difference,
    Expectation,
    Row,
    Tables,
    differences,
    matching,
)

VOLATILE = re.compile(
    r"(^|[_.])(id|uid|uuid|rid|rowid|key|hash|sha|etag|seq|serial|order|position|index|rev|revision|version|created|"
    r"modified|updated|changed|time|date|mtime|ctime|timestamp|stamp|tim|token|session|path|file|size|length|number|"
    r"num|creation|activity|actor|user|author|reporter|slug|url|count|last|latest|draft|live)([_.]|$)|(time|date|_id|at)$",
    re.IGNORECASE,
)
IDENTITY = ("key", "id", "uuid", "name", "title", "path", "slug")
LONGEST_KEPT = 200  # characters of a value that nobody typed
SHORTEST_PART = 3  # of a typed text that stands inside of a longer one


class NoCheck(Exception):
    """Why no check can be written, and the inputs that nothing in the state shows."""

    def __init__(self, reason: str, unshown: Sequence[Move] = ()) -> None:
        super().__init__(reason)
        self.unshown = tuple(unshown)


def write_check(
    before: Tables, first: Tables, second: Tables, inputs: Sequence[Move], noise: Collection[str], category: str
) -> tuple[Check, tuple[Move, ...]]:
    """The check, and the inputs that no value in the state shows: of those nothing is known yet.

    Args:
      before: of a fresh reset; first, second: after the solution, each from a fresh reset.
      noise: tables that change by looking alone.
      category: of the task's last function.

    Raises NoCheck.
    """
    found = [each for each in differences(before, first) if each.table not in noise]
    again = [each for each in differences(before, second) if each.table not in noise]
    if not found:
        raise NoCheck("it changes nothing in the state")
    if not again:
        raise NoCheck("it changes something only once in two times")
    chosen = _covering(found, inputs, category)
    missing = [move for move in inputs if not any(_shows(each, move) for each in chosen)]
    typed = [move for move in missing if move.kind == "fill"]
    if typed:
        raise NoCheck("a text that was asked for is not in the state", typed)
    expectations: list[Expectation] = []
    for each in chosen:
        partner = next((other for other in again if _same_place(each, other)), None)
        if partner is None:
            raise NoCheck("its effect is another one the second time")
        expectations.append(_expectation(each, partner, inputs, before, first))
    primary = chosen[0].table
    if chosen[0].kind != "changed":
        expectations.append(Expectation(primary, (), len(first.get(primary, ()))))
    check = tuple(dict.fromkeys(expectations))
    if not all(each.holds(second) and each.holds(first) for each in check):
        raise NoCheck("its effect is another one the second time")
    if all(each.holds(before) for each in check):
        raise NoCheck("what it expects is already so")
    return check, tuple(missing)


def agrees(category: str, found: Sequence[Difference]) -> bool:
    """Whether what happened is what the category says: intent has not drifted."""
    kinds = {each.kind for each in found}
    wanted = {"create": {"created", "changed"}, "delete": {"deleted", "changed"}}
    return bool(kinds & wanted.get(category, {"changed", "created"}))


def _covering(found: Sequence[Difference], inputs: Sequence[Move], category: str) -> list[Difference]:
    """Few differences that show all inputs, those that show most first; logs, which repeat others, stay out."""
    kind = {"create": "created", "delete": "deleted"}.get(category, "changed")
    left = list(inputs)
    chosen: list[Difference] = []
    rest = list(found)
    while rest:
        best = max(
            rest, key=lambda each: (_weight(each, left), each.kind == kind, -len(each.after or each.before or {}))
        )
        gain = _weight(best, left)
        if chosen and gain == 0:
            break
        chosen.append(best)
        rest.remove(best)
        left = [move for move in left if not _shows(best, move)]
        if not left:
            break
    deleted = [each for each in found if each.kind == "deleted" and each not in chosen]
    if category == "delete" and not any(each.kind == "deleted" for each in chosen) and deleted:
        chosen = [deleted[0], *(each for each in chosen if _weight(each, list(inputs)))]
    return chosen


def _fields(difference: Difference) -> int:
    return len(difference.after or difference.before or {})


def _weight(difference: Difference, inputs: Sequence[Move]) -> int:
    return sum(_shows(difference, move) for move in inputs)


def _shows(difference: Difference, move: Move) -> bool:
    """Whether a field that came or changed holds what the move put in."""
    row = difference.after or {}
    return any(_way(row[name], move) is not None for name in difference.changed_fields if name in row)


def _way(value: str, move: Move) -> str | None:
    """How a field's value shows an input: "is", "contains", or not at all."""
    wanted = {"on": ("true", "1", "on", "yes"), "off": ("false", "0", "off", "no", "")}
    if move.kind == "toggle":
        return "is" if value.lower() in wanted[move.value] else None
    said = move.label if move.kind == "mark" else move.value.strip()
    if value == said or (move.kind != "fill" and value.lower() == said.lower()):
        return "is"
    if _is_number(value) and _is_number(said) and float(value) == float(said):
        return "is"
    return "contains" if len(said) >= SHORTEST_PART and said in value and move.kind == "fill" else None


def _expectation(
    each: Difference, partner: Difference, inputs: Sequence[Move], before: Tables, after: Tables
) -> Expectation:
    if each.after is None:
        assert each.before is not None
        conditions = _identity(each.before, before.get(each.table, ()))
        return Expectation(each.table, conditions, matching(after, each.table, conditions))
    shown = _asked_for(each, inputs)
    identity: tuple[Condition, ...] = ()
    if each.before is not None:
        kept = {name: value for name, value in each.after.items() if name not in each.changed_fields}
        identity = _identity(kept, after.get(each.table, ()))
    taken = {condition.field for condition in (*identity, *shown)}
    stable = _stable(each, partner, taken)
    if not shown and not any(condition.field in each.changed_fields for condition in stable):
        raise NoCheck("only counters and dates change")
    conditions = (*identity, *shown, *stable)
    return Expectation(each.table, conditions, matching(after, each.table, conditions))


def _asked_for(each: Difference, inputs: Sequence[Move]) -> tuple[Condition, ...]:
    assert each.after is not None
    conditions = {}
    for move in inputs:
        ways = {
            name: way for name in each.changed_fields if name in each.after if (way := _way(each.after[name], move))
        }
        named = [name for name in ways if name.lower() in (move.name.lower(), move.label.lower())]
        for name in named or [name for name, way in ways.items() if way == "is"][:1] or list(ways)[:1]:
            way = ways[name]
            value = each.after[name] if way == "is" else move.value.strip()
            conditions[(name, value)] = Condition(name, way, value)
    return tuple(conditions.values())


def _stable(each: Difference, partner: Difference, taken: Collection[str]) -> tuple[Condition, ...]:
    after, other = each.after or {}, partner.after or {}
    return tuple(
        Condition(name, "is", after[name])
        for name in (after)
        if name not in taken and "." not in name and after[name] == other.get(name)
        and not VOLATILE.search(name) and len(after[name]) <= LONGEST_KEPT
    )  # fmt: skip


def _identity(row: Row, rows: Sequence[Row]) -> tuple[Condition, ...]:
    """The shortest conditions that only this row meets, as far as its fields can tell."""
    names = [*(name for name in IDENTITY if name in row), *(name for name in row if name not in IDENTITY)]
    conditions: tuple[Condition, ...] = ()
    for name in names:
        if len(row[name]) > LONGEST_KEPT:
            continue
        conditions = (*conditions, Condition(name, "is", row[name]))
        if sum(all(each.holds(other) for each in conditions) for other in rows) <= 1:
            break
    return conditions


def _same_place(one: Difference, other: Difference) -> bool:
    if (one.table, one.kind) != (other.table, other.kind):
        return False
    if one.before is not None:
        return one.before == other.before
    return True


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?", text) is not None
