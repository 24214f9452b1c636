"""Queries of a graph's functions, from novice to expert, in one application and across two.

A query is a plan in form: what comes first, what is asked for, what may come in between, how much of it is told. The
words are `wording.py`'s.

    novice         one function, its prerequisites done before, the application and its place named
    intermediate   one function, its prerequisites asked for, too
    expert         two functions in a row, with the exceptions that may come in between; only the goal is told
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator, Mapping, Sequence

from tars_jax.annotation.task_design.difficulty import Difficulty
from tars_jax.annotation.task_design.graph import ApplicationFunction, TaskGraph

SKILLS = ("novice", "intermediate", "expert")


@dataclasses.dataclass(frozen=True)
class QueryPart:
    """A function of an application with its values."""

    application: str
    kind: str
    group: str  # of the hierarchy; empty: at the top
    function: ApplicationFunction
    values: tuple[tuple[str, str], ...]  # by slot

    @property
    def goal(self) -> str:
        """The goal with its values, in quotation marks."""
        text = self.function.goal
        for slot, value in self.values:
            text = text.replace(f"{{{slot}}}", f'"{value}"')
        return text


@dataclasses.dataclass(frozen=True)
class TaskQuery:
    """`before`: prerequisites that the task asks for; `given`: those that are done before it begins."""

    skill: str
    before: tuple[QueryPart, ...]
    parts: tuple[QueryPart, ...]
    given: tuple[QueryPart, ...] = ()
    exceptions: tuple[str, ...] = ()  # that the words tell
    passed_on: str = ""  # what goes from one application to the next, where no value says it

    @property
    def applications(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part.application for part in self.parts))

    @property
    def functions(self) -> tuple[str, ...]:
        return tuple(f"{part.application}/{part.function.id}" for part in self.parts)

    @property
    def plan(self) -> tuple[object, ...]:
        """Equal for queries that ask for the same, however they are worded."""
        goals = (tuple(part.goal for part in parts) for parts in (self.before, self.parts, self.given))
        return (self.skill, self.functions, *goals, self.exceptions)

    @property
    def difficulty(self) -> Difficulty:
        asked = (*self.before, *self.parts)
        pages = sum(part.function.pages - 1 for part in asked) + (len(self.applications) - 1)
        needed = {(part.application, id) for part in self.parts for id in part.function.needs}
        steps = sum(part.function.steps for part in asked)
        return Difficulty(steps, pages, len({*needed} | {(p.application, p.function.id) for p in self.before}),
                          len(self.exceptions))  # fmt: skip


def queries_of(graphs: Sequence[TaskGraph], rng: random.Random, each: int = 2) -> Iterator[TaskQuery]:
    """`each` queries of each skill for every function, and every pair of functions of two applications of which one
    gives what the other takes. Values are drawn by `rng`."""
    for graph in graphs:
        for function in graph.leaves:
            for _ in range(each):
                yield _novice(graph, function, rng)
                if function.needs:
                    yield _intermediate(graph, function, rng)
                if query := _expert(graph, function, rng):
                    yield query
    for graph in graphs:
        for other in graphs:
            if graph.application != other.application:
                for function in graph.leaves:
                    for follower in other.leaves:
                        for passed_on in sorted({*function.given} & {*follower.taken}):
                            yield from _across(graph, function, other, follower, passed_on, rng)


def _novice(graph: TaskGraph, function: ApplicationFunction, rng: random.Random) -> TaskQuery:
    part = _part(graph, function, rng)
    return TaskQuery("novice", (), (part,), _before(graph, [part], rng))


def _intermediate(graph: TaskGraph, function: ApplicationFunction, rng: random.Random) -> TaskQuery:
    part = _part(graph, function, rng)
    return TaskQuery("intermediate", _before(graph, [part], rng), (part,))


def _expert(graph: TaskGraph, function: ApplicationFunction, rng: random.Random) -> TaskQuery | None:
    """None where the graph has nothing that goes with it."""
    nearby = [
        each for each in graph.leaves
        if each.id != function.id and each not in graph.before(function) and function not in graph.before(each)
        and (each.part_of == function.part_of or each.needs == function.needs)
    ]  # fmt: skip
    if not nearby:
        return None
    functions = [function, rng.choice(nearby)]
    exceptions = tuple(rng.choice(each.exceptions) for each in functions if each.exceptions)
    first = _part(graph, functions[0], rng)
    parts = (first, _part(graph, functions[1], rng, dict(first.values)))
    return TaskQuery("expert", _before(graph, parts, rng), parts, exceptions=exceptions)


def _across(
    graph: TaskGraph,
    function: ApplicationFunction,
    other: TaskGraph,
    follower: ApplicationFunction,
    passed_on: str,
    rng: random.Random,
) -> Iterator[TaskQuery]:
    first, second = _part(graph, function, rng), _part(other, follower, rng)
    named, naming = function.given[passed_on], follower.taken[passed_on]
    if named and naming:  # the same thing has the same name in both
        values = {**dict(second.values), naming: dict(first.values)[named]}
        second = dataclasses.replace(second, values=tuple(values.items()))
    parts, before = (first, second), (*_before(graph, [first], rng), *_before(other, [second], rng))
    passes = "" if named and naming else passed_on
    yield TaskQuery("novice", (), parts, before, passed_on=passes)
    if before:
        yield TaskQuery("intermediate", before, parts, passed_on=passes)
    if exceptions := tuple(rng.choice(each.exceptions) for each in (function, follower) if each.exceptions):
        yield TaskQuery("expert", before, parts, exceptions=exceptions, passed_on=passes)


def _before(graph: TaskGraph, parts: Sequence[QueryPart], rng: random.Random) -> tuple[QueryPart, ...]:
    """Parts that have to be done before these, about the same things: a slot of the same name has the same value."""
    asked = [part.function for part in parts]
    needed = {each.id: each for function in asked for each in graph.before(function) if each.goal}
    known = {slot: value for part in reversed(parts) for slot, value in part.values}
    return tuple(_part(graph, each, rng, known) for each in needed.values() if each not in asked)


def _part(
    graph: TaskGraph, function: ApplicationFunction, rng: random.Random, known: Mapping[str, str] = {}
) -> QueryPart:
    """`known`: values of slots by their names, which count where the function can have them."""
    values = tuple(
        (slot, known[slot] if known.get(slot) in function.values[slot] else rng.choice(function.values[slot]))
        for slot in function.slots
    )
    group = graph.by_id[function.part_of].id.replace("_", " ") if function.part_of else ""
    return QueryPart(graph.application, graph.kind, group, function, values)
