"""Events of a store's journal: checked before they are written, and again when they are read.

    add         an episode: its row, with what it came with       verdict     what somebody says of one later
    assign      episodes that a set gets by a batch               hold_out    tasks that no set may hold
    drop        an episode that is lost                       leave       episodes that a set loses by a batch

The tables can hold whatever passes here, so no line that was written can stop a store from being opened. A line that
says more than is known here is of a newer version: nobody passes over it, as nobody knows what it takes back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.data.store.verdicts import Verdict
from tars_jax.json_fields import is_number, is_text, short_repr
from tars_jax.trajectory.files import NewerFormat

VERDICT_FIELDS = frozenset(field.name for field in dataclasses.fields(Verdict))
LARGEST = 2**63 - 1  # integer of SQLite
Event = Mapping[str, Any]


def is_integer(value: Any) -> bool:
    return type(value) is int and -LARGEST - 1 <= value <= LARGEST


def _are(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list | tuple) and all(map(kind, value))


def _is_held_out(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and all(map(is_text, value))


def _is_verdict(value: Any) -> bool:
    """Raises NewerFormat for one that says more than is known here."""
    if isinstance(value, Mapping) and {"value", "kind"} <= value.keys() and (more := value.keys() - VERDICT_FIELDS):
        raise NewerFormat(f"a verdict with {sorted(more)[0]!r}")
    try:
        return bool(Verdict.from_json(value))
    except InputError:
        return False


_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "text": (is_text, "text that has a UTF-8 form"),
    "integer": (is_integer, f"a whole number from {-LARGEST - 1} to {LARGEST}"),
    "seed": (lambda value: value is None or is_integer(value), f"a whole number from {-LARGEST - 1} to {LARGEST}"),
    "number": (is_number, "a finite number"),
    "texts": (_are(is_text), "a list of texts that have a UTF-8 form"),
    "verdict": (_is_verdict, "a verdict"),
    "verdicts": (_are(_is_verdict), "a list of verdicts"),
    "held out": (_are(_is_held_out), "a list of pairs of a task and how it begins"),
    "row": (lambda value: isinstance(value, Mapping), "an object"),
}
ROW = {
    "id": "text", "task": "text", "start": "text", "environment": "text", "seed": "seed", "source": "text",
    "weights": "text", "cycle": "integer", "parent": "text", "run": "text", "purpose": "text", "outcome": "text",
    "reward": "number", "steps": "integer", "tokens": "integer", "time": "number", "images": "texts",
    "verdicts": "verdicts",
}  # fmt: skip
# Of rows, which lines of earlier versions lack.
LATER: dict[str, str] = {"stage": "text", "version": "integer", "played": "text"}
EVENTS = {
    "add": {"add": "row"},
    "verdict": {"verdict": "verdict", "episode": "text"},
    "assign": {"assign": "texts", "set": "text", "batch": "text"},
    "leave": {"leave": "texts", "set": "text", "batch": "text"},
    "hold_out": {"hold_out": "held out"},
    "drop": {"drop": "text"},
}


def checked_event(event: Event, where: str) -> Event:
    """The event. Raises InputError that begins with `where` and names the field which no table could hold, NewerFormat
    for what is not known here."""
    fields = next((fields for name, fields in EVENTS.items() if name in event), None)
    if fields is None:
        raise _newer(where, f"an event {short_repr(sorted(event))}")
    _check(event, fields, {}, where)
    if "add" in event:
        _check(event["add"], ROW, LATER, where)
    return event


def _check(values: Mapping[str, Any], fields: Mapping[str, str], later: Mapping[str, str], where: str) -> None:
    for name, value in values.items():
        kind = fields.get(name) or later.get(name)
        if kind is None:
            raise _newer(where, f"a field {name!r}")
        fits, wanted = _KINDS[kind]
        try:
            is_fitting = fits(value)
        except NewerFormat as more:
            raise _newer(where, str(more)) from more
        if not is_fitting:
            raise InputError(f"{where}: {name} must be {wanted}; got {short_repr(value)}")
    if missing := [name for name in fields if name not in values]:
        raise InputError(f"{where}: {missing[0]} must be there; got none")


def _newer(where: str, what: str) -> NewerFormat:
    return NewerFormat(
        f"{where}: a store must be of this version of tars_jax or an older one; got {what}, which a newer version has "
        "written"
    )


def describe_event(event: Event) -> str:
    """Describes an event in words, for whoever loses it. Raises what Python does for one that was never whole."""
    if "add" in event:
        return f"episode {event['add'].get('id', '')[:12]}, which repair takes in again if its file is whole"
    if "verdict" in event:
        said = event["verdict"]
        by = f"{said.get('kind')} {said.get('name', '')}".strip()
        return f"the verdict {said.get('value')} of {by} on {event['episode'][:12]}"
    if "assign" in event:
        return f"the assignment of {len(event['assign'])} episodes to set {event['set']}, batch {event['batch']}"
    if "leave" in event:
        return f"that {len(event['leave'])} episodes left set {event['set']} by batch {event['batch']}"
    if "hold_out" in event:
        return f"the hold-out of {len(event['hold_out'])} tasks: {', '.join(task for task, _ in event['hold_out'])}"
    return f"the loss of episode {event['drop'][:12]}"
