"""Candidates for tasks: functions with drawn values and words, alone, in a row, and with what they need first."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Collection, Iterator, Sequence
from typing import TypeAlias

from tars_jax.data.website_synthesis.functions import Field, SiteFunction
from tars_jax.data.website_synthesis.moves import HOME, PageMove
from tars_jax.data.website_synthesis.values import draw_value
from tars_jax.data.website_synthesis.wording import compose, joined, noun_of

MOST_STEPS = 10
MARKS = ("checkbox", "radio")
MOST_LINKS = 3  # of a function that is one of several in a row


@dataclasses.dataclass(frozen=True)
class FilledFunction:
    """A function of a site, filled in with values."""

    function: SiteFunction
    inputs: tuple[PageMove, ...]
    instruction: str


@dataclasses.dataclass(frozen=True)
class TaskCandidate:
    """A task that nobody has tried yet."""

    parts: tuple[FilledFunction, ...]
    plan: tuple[PageMove, ...]  # from the start to the end
    instruction: str

    @property
    def inputs(self) -> tuple[PageMove, ...]:
        return tuple(move for part in self.parts for move in part.inputs)

    @property
    def steps(self) -> int:
        """The number of steps, its difficulty: links followed, fields filled in, buttons pressed."""
        return sum(move != HOME for move in self.plan)


Hidden: TypeAlias = Collection[tuple[str, str]]  # (program, label) of fields that no reader of the state shows


def candidates(functions: Sequence[SiteFunction], seed: str, each: int, hidden: Hidden = ()) -> Iterator[TaskCandidate]:
    """`each` of every function in turn, with other fields and values every time; `hidden` may grow meanwhile."""
    for number in range(each):
        for index, function in enumerate(functions):
            rng = random.Random(f"{seed}:{number}:{index}")
            wanted = rng.randint(1, 2) if number == 0 else rng.randint(1, 5) if number % 3 else rng.randint(4, 8)
            part = draw_part(function, rng, min(wanted, MOST_STEPS - len(function.trail) - 1), hidden)
            if part is not None and not (number and not part.inputs):
                yield single_candidate(part)


def rows(
    functions: Sequence[SiteFunction], seed: str, count: int, length: int = 2, hidden: Hidden = ()
) -> Iterator[TaskCandidate]:
    """Tasks that are done in a row, each with another object or form: long ones out of short ones.

    One of three has a part more; the others are of `length` parts with two fields or three.
    """
    rng = random.Random(f"{seed}:rows")
    usable = [each for each in functions if len(each.trail) <= MOST_LINKS]
    for number in range(count):
        size = length + (number % 3 == 0)
        if len(usable) < size:
            continue
        parts = [draw_part(each, rng, 1 + number % 3, hidden) for each in rng.sample(usable, size)]
        if all(part is not None and (part.inputs or part.function.category == "delete") for part in parts):
            yield sequential_candidate([part for part in parts if part is not None], rng)


def draw_part(function: SiteFunction, rng: random.Random, most: int, hidden: Hidden = ()) -> FilledFunction | None:
    """The function with values for what it needs and for up to `most` fields in all; None where nothing fits."""
    fields = [each for each in function.fields if (function.program, each.label) not in hidden]
    needed = [each for each in function.fields if each.required and not each.value and each.kind not in MARKS]
    if any(each not in fields for each in needed):
        return None
    if function.category == "create":
        needed = needed or [each for each in fields if _is_text(each)][:1]
    others = [each for each in fields if each not in needed]
    rng.shuffle(others)
    others = _one_of_several(others)
    fillable = function.category != "delete"
    drawn = [*needed, *(others[: max(0, most - len(needed))] if fillable else ())]
    drawn.sort(key=function.fields.index)
    inputs = []
    for field in drawn:
        value = draw_value(field, rng)
        if value and value != field.value:
            inputs.append(dataclasses.replace(field.move, value=value))
        elif field in needed:
            return None
    if function.fields and not inputs and fillable:
        return None
    says_itself = function.category == "create" and noun_of(function) != ""
    place = 0 if says_itself and rng.random() < 0.3 else 1 if rng.random() < 0.7 else 2
    return FilledFunction(function, tuple(inputs), compose(function, inputs, rng, place=place))


def single_candidate(part: FilledFunction) -> TaskCandidate:
    return TaskCandidate((part,), plan_of(part), part.instruction)


def plan_of(part: FilledFunction) -> tuple[PageMove, ...]:
    """The plan of a function from the start: to its page, what is put in there, and the button."""
    function = part.function
    early = {each.move for each in function.fields if each.early}
    before = tuple(each for each in part.inputs if dataclasses.replace(each, value="") in early)
    after = tuple(each for each in part.inputs if each not in before)
    cut = len(function.trail) - 1 if before else len(function.trail)
    return (*function.trail[:cut], *before, *function.trail[cut:], *after, function.submit)


def sequential_candidate(parts: Sequence[FilledFunction], rng: random.Random) -> TaskCandidate:
    """A candidate of several functions, one after the other, each from the start."""
    plan: list[PageMove] = []
    for part in parts:
        plan += [*([HOME] if plan else []), *single_candidate(part).plan]
    return TaskCandidate(tuple(parts), tuple(plan), joined([part.instruction for part in parts], rng))


def dependent_candidate(first: TaskCandidate, part: FilledFunction, rng: random.Random) -> TaskCandidate:
    """`part` needs what `first` makes; its function's trail begins with all of `first`'s plan."""
    plan = plan_of(part)
    said = joined([*(each.instruction for each in first.parts), part.instruction], rng)
    return TaskCandidate((*first.parts, part), plan, said)


def with_full_names(candidate: TaskCandidate) -> TaskCandidate:
    """The candidate in more words: each part with all names of its page."""
    rng = random.Random(candidate.instruction)
    parts = [
        dataclasses.replace(part, instruction=compose(part.function, part.inputs, rng, place=len(part.function.places)))
        for part in candidate.parts
    ]
    said = parts[0].instruction if len(parts) == 1 else joined([part.instruction for part in parts], rng)
    return dataclasses.replace(candidate, parts=tuple(parts), instruction=said)


def _is_text(field: Field) -> bool:
    return field.kind not in ("select", *MARKS)


def _one_of_several(fields: Sequence[Field]) -> list[Field]:
    """Without those of which only one can be chosen, but for the first of them."""
    first = {each.move.name: each for each in reversed(fields) if each.kind == "radio"}
    return [each for each in fields if each.kind != "radio" or first[each.move.name] == each]
