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
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from tars_jax import InputError
from tars_jax.decoding import decoded
from tars_jax.json_fields import read_json, read_toml

MEASURES = ("frequency", "benefit", "transfer")
MOST = 10**9  # of a measure
_SLOT = re.compile(r"\{(\w+)\}")


Word = Annotated[str, Meta(pattern=r"\S", description="a text that is not empty")]
Measure = Annotated[float, Meta(ge=0, le=MOST)]
Count = Annotated[int, Meta(ge=1, le=1000)]


@dataclasses.dataclass(frozen=True)
class ApplicationFunction:
    """A node: something that an application is used for. A group has an empty `goal`."""

    id: Word
    goal: str = ""  # in the imperative, with {slots}
    part_of: str = ""
    frequency: Measure = 0.0
    benefit: Measure = 0.0
    transfer: Measure = 0.0
    steps: Count = 1
    pages: Count = 1
    needs: tuple[Word, ...] = ()
    exceptions: tuple[Word, ...] = ()
    gives: tuple[Word, ...] = ()
    takes: tuple[Word, ...] = ()
    # What a slot may be; in one task a slot of the same name is the same thing, also of what comes before.
    values: Mapping[str, Annotated[tuple[Word, ...], Meta(min_length=1, description="a list of texts")]] = (
        dataclasses.field(default_factory=dict)
    )

    def __post_init__(self) -> None:
        if missing := [slot for slot in self.slots if slot not in self.values]:
            raise InputError(f"values must hold each slot of the goal; got none for {{{missing[0]}}}")
        for field, things in (("gives", self.given), ("takes", self.taken)):
            if unknown := [slot for slot in things.values() if slot and slot not in self.slots]:
                raise InputError(f"{field} must name slots of the goal behind a colon; got {unknown[0]!r}")
        if "{" in _SLOT.sub("", self.goal) or "}" in _SLOT.sub("", self.goal):
            raise InputError(f"goal must have slots as {{name}}; got {self.goal!r:.100}")

    @property
    def given(self) -> dict[str, str]:
        """Things that it leaves for other functions, with the slot that names each, or ""."""
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
    application: Word
    functions: tuple[ApplicationFunction, ...]
    kind: Literal["website", "desktop", "phone"] = "website"

    @functools.cached_property
    def by_id(self) -> Mapping[str, ApplicationFunction]:
        return {each.id: each for each in self.functions}

    @property
    def leaves(self) -> tuple[ApplicationFunction, ...]:
        """Functions that tasks can ask for."""
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
        """Importance of each leaf, 0 to 1: the mean of the three measures, each as a share of the largest one, by
        `weights`."""
        largest = {name: max((getattr(each, name) for each in self.leaves), default=0.0) for name in MEASURES}
        total = sum(weights[name] for name in MEASURES)
        return {
            each.id: sum(weights[name] * getattr(each, name) / (largest[name] or 1.0) for name in MEASURES) / total
            for each in self.leaves
        }


def read_graph(file: Path) -> TaskGraph:
    """Raises InputError that names the file and the field."""
    graph = decoded(read_json(file) if file.suffix == ".json" else read_toml(file), TaskGraph, f"{file}: field ")
    named = tuple(dataclasses.replace(each, goal=each.goal.strip().rstrip(".")) for each in graph.functions)
    graph = dataclasses.replace(graph, functions=named)
    _check(graph, file)
    return graph


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
