"""An application's task graph, as a user writes it in TOML or JSON: what can be done there, and what that is worth.

    application = "Roundup"
    kind = "website"

    [[functions]]
    id = "create_issue"
    part_of = "issues"              # the function above it in the hierarchy; without: at the top
    goal = "create an issue titled {title}"
    frequency = 40                  # how often people do it, in any unit that is the same in all the graph
    benefit = 4                     # what it is worth to them, likewise
    transfer = 5                    # in how many other scenarios the same is done
    steps = 4                       # actions of somebody who knows the way
    pages = 2                       # pages or windows that it goes through
    needs = ["sign_in"]             # functions that come before it
    exceptions = ["an issue with that title is already there"]
    gives = ["text:title"]          # what it leaves for a function of another application, which `takes` it; behind
    takes = []                      # the colon the slot that names it, where one does
    values = {title = ["Printer jams", "Door squeaks"]}

A function without a `goal` is a group: others are part of it, and no task asks for it.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tars_jax import InputError
from tars_jax.json_fields import Fields, shown

KINDS = ("website", "desktop", "phone")
MEASURES = ("frequency", "benefit", "transfer")
MOST = 10**9  # of a measure
_SLOT = re.compile(r"\{(\w+)\}")


@dataclasses.dataclass(frozen=True)
class ApplicationFunction:
    """A node: something that an application is used for. A group has an empty `goal`."""

    id: str
    goal: str = ""  # in the imperative, with {slots}
    part_of: str = ""
    frequency: float = 0.0
    benefit: float = 0.0
    transfer: float = 0.0
    steps: int = 1
    pages: int = 1
    needs: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    # What a slot may be; in one task a slot of the same name is the same thing, also of what comes before.
    values: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)

    @property
    def given(self) -> dict[str, str]:
        """What it leaves for others, with the slot that names it, or ""."""
        return _things(self.gives)

    @property
    def taken(self) -> dict[str, str]:
        return _things(self.takes)

    @property
    def slots(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_SLOT.findall(self.goal)))


def _things(told: Sequence[str]) -> dict[str, str]:
    return {thing.strip(): slot.strip() for thing, _, slot in (each.partition(":") for each in told)}


@dataclasses.dataclass(frozen=True)
class TaskGraph:
    application: str
    kind: str  # one of KINDS
    functions: tuple[ApplicationFunction, ...]

    @functools.cached_property
    def by_id(self) -> Mapping[str, ApplicationFunction]:
        return {each.id: each for each in self.functions}

    @property
    def leaves(self) -> tuple[ApplicationFunction, ...]:
        """What tasks can ask for."""
        return tuple(each for each in self.functions if each.goal)

    def before(self, function: ApplicationFunction) -> tuple[ApplicationFunction, ...]:
        """All that comes before it, each once, in an order in which they can be done."""
        found: dict[str, ApplicationFunction] = {}

        def visit(id: str) -> None:
            for needed in self.by_id[id].needs:
                if needed not in found:
                    visit(needed)
                    found[needed] = self.by_id[needed]

        visit(function.id)
        return tuple(found.values())

    def importance(self, weights: Mapping[str, float]) -> dict[str, float]:
        """Of each leaf, 0 to 1: the mean of the three measures, each as a share of the largest one, by `weights`."""
        largest = {name: max((getattr(each, name) for each in self.leaves), default=0.0) for name in MEASURES}
        total = sum(weights[name] for name in MEASURES)
        return {
            each.id: sum(weights[name] * getattr(each, name) / (largest[name] or 1.0) for name in MEASURES) / total
            for each in self.leaves
        }


def read_graph(file: Path) -> TaskGraph:
    """Raises InputError that names the file and the field."""
    record = _parsed(file)
    if not isinstance(record, dict):
        raise InputError(f"{file} must be a table with application, kind and functions; got {shown(record)}")
    fields = Fields(record, f"{file}: field ")
    application, kind = _word(fields, "application"), fields.text("kind", "website")
    if kind not in KINDS:
        raise fields.error("kind", f"one of {', '.join(KINDS)}")
    functions = tuple(
        _function(each, f"{file}: field functions[{number}]")
        for number, each in enumerate(fields.array("functions", required=True))
    )
    _all_read(fields, ("application", "kind", "functions"), file)
    graph = TaskGraph(application, kind, functions)
    _check(graph, file)
    return graph


def _parsed(file: Path) -> Any:
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        raise InputError(f"{file} must be a task graph in TOML or JSON; {error}") from error
    try:
        return json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        kind = "JSON" if file.suffix == ".json" else "TOML"
        raise InputError(f"{file} must be a task graph in {kind}; {error}") from error


def _function(record: Any, where: str) -> ApplicationFunction:
    if not isinstance(record, dict):
        raise InputError(f"{where} must be a table; got {shown(record)}")
    fields = Fields(record, f"{where}.")
    made = ApplicationFunction(
        id=_word(fields, "id"),
        goal=fields.text("goal", "").strip().rstrip("."),
        part_of=fields.text("part_of", ""),
        frequency=fields.number("frequency", 0.0, 0.0, MOST),
        benefit=fields.number("benefit", 0.0, 0.0, MOST),
        transfer=fields.number("transfer", 0.0, 0.0, MOST),
        steps=fields.integer("steps", 1, 1, 1000) or 1,
        pages=fields.integer("pages", 1, 1, 1000) or 1,
        needs=_texts(fields, "needs"),
        exceptions=_texts(fields, "exceptions"),
        gives=_texts(fields, "gives"),
        takes=_texts(fields, "takes"),
        values=_values(fields),
    )
    _all_read(fields, tuple(each.name for each in dataclasses.fields(ApplicationFunction)), where)
    if missing := [slot for slot in made.slots if slot not in made.values]:
        raise InputError(f"{where}.values must hold each slot of the goal; got none for {{{missing[0]}}}")
    for field, things in (("gives", made.given), ("takes", made.taken)):
        if unknown := [slot for slot in things.values() if slot and slot not in made.slots]:
            raise InputError(f"{where}.{field} must name slots of the goal behind a colon; got {unknown[0]!r}")
    if "{" in _SLOT.sub("", made.goal) or "}" in _SLOT.sub("", made.goal):
        raise InputError(f"{where}.goal must have slots as {{name}}; got {made.goal!r:.100}")
    return made


def _word(fields: Fields, name: str) -> str:
    if not (text := fields.text(name).strip()):
        raise fields.error(name, "a text that is not empty")
    return text


def _texts(fields: Fields, name: str) -> tuple[str, ...]:
    given = fields.array(name)
    if not all(isinstance(each, str) and each.strip() for each in given):
        raise fields.error(name, "a list of texts")
    return tuple(each.strip() for each in given)


def _values(fields: Fields) -> dict[str, tuple[str, ...]]:
    given = fields.value("values")
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise fields.error("values", "a table of lists")
    inner = Fields(given, f"{fields.prefix}values.")
    found = {name: _texts(inner, name) for name in given}
    if empty := [name for name, values in found.items() if not values]:
        raise inner.error(empty[0], "a list with a value at least")
    return found


def _all_read(fields: Fields, known: Sequence[str], where: object) -> None:
    if unknown := fields.unread():
        raise InputError(f"{where}: a field must be one of {', '.join(known)}; got {unknown[0]!r}")


def _check(graph: TaskGraph, file: Path) -> None:
    ids = [each.id for each in graph.functions]
    if twice := sorted({id for id in ids if ids.count(id) > 1}):
        raise InputError(f"{file}: field functions must have each id once; got {twice[0]!r} twice")
    if not graph.leaves:
        raise InputError(f"{file}: field functions must hold one with a goal; got none")
    for number, each in enumerate(graph.functions):
        for field, named in (("part_of", [each.part_of] if each.part_of else []), ("needs", each.needs)):
            if unknown := [id for id in named if id not in ids]:
                raise InputError(
                    f"{file}: field functions[{number}].{field} must name functions of the graph; got {unknown[0]!r}"
                )
    for field, edges in (
        ("part_of", {each.id: (each.part_of,) if each.part_of else () for each in graph.functions}),
        ("needs", {each.id: each.needs for each in graph.functions}),
    ):
        if circle := _circle(edges):
            raise InputError(f"{file}: field {field} must lead in no circle; got {' -> '.join(circle)}")


def _circle(edges: Mapping[str, Sequence[str]]) -> list[str]:
    """The first one; empty where there is none. Without recursion, as a graph may be a long chain."""
    done: set[str] = set()
    for start in edges:
        path, open_edges = [start], [iter(edges[start])]
        while path:
            following = next((id for id in open_edges[-1] if id not in done), None)
            if following is None:
                done.add(path.pop())
                open_edges.pop()
            elif following in path:
                return [*path[path.index(following) :], following]
            else:
                path.append(following)
                open_edges.append(iter(edges[following]))
    return []
