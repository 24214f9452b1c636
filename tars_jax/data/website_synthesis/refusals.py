"""Refusals of a form by its page: which fields it refuses, and what they should hold.

A form that changed nothing may have been refused: it is shown again, with words beside a field or above them all. The
fields that these words are about are filled in the next time, with values of the kind that they call for.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Sequence

from tars_jax.data.website_synthesis.functions import Field, SiteFunction
from tars_jax.data.website_synthesis.values import kind_wanted
from tars_jax.data.website_synthesis.view import View

MOST_EMPTY = 5  # fields that are filled in where a form says nothing of why it was not taken
NEEDS = re.compile(r"\b(required|mandatory|must|missing|empty|blank|needs?|invalid|not valid)\b", re.IGNORECASE)

Refusal = tuple[str, str, str]  # program, label of a field, the kind of value that it wants (values.WANTED) or nothing


def refusals(view: View, function: SiteFunction, filled: Collection[str]) -> tuple[Refusal, ...]:
    """Refusals of a function's form in the view; `filled`: the labels of the fields that something was put into."""
    if not is_shown(view, function):
        return ()
    labels = [each.label for each in function.fields]
    found = {  # what was filled in and is empty now is a form anew
        each.label: kind_wanted(each.refused)
        for each in view.controls
        if each.refused and each.label in labels and (each.value or each.label not in filled)
    }
    for said in filter(NEEDS.search, view.alerts):
        for label in labels:
            if label not in filled and re.search(rf"\b{re.escape(label)}\b", said, re.IGNORECASE):
                found.setdefault(label, kind_wanted(said))
    return tuple((function.program, label, kind) for label, kind in found.items())


def left_empty(view: View, function: SiteFunction, filled: Collection[str]) -> tuple[Refusal, ...]:
    """The fields of a form that was not taken and says nothing of why: they may be needed."""
    if not is_shown(view, function) or function.category != "create":
        return ()
    empty = [each for each in function.fields if each.label not in filled and _is_empty(each)]
    return tuple((function.program, each.label, "") for each in empty[:MOST_EMPTY])


def is_shown(view: View, function: SiteFunction) -> bool:
    """Whether the function's form is there: its button with one of its fields."""
    labels = {each.label for each in view.controls if not each.is_pressed}
    buttons = {each.label for each in view.controls if each.kind == "button"}
    return function.button in buttons and any(each.label in labels for each in function.fields)


def with_required_fields(functions: Sequence[SiteFunction], refused: Collection[Refusal]) -> list[SiteFunction]:
    """The functions, in whose forms these fields are needed from now on."""
    return [dataclasses.replace(each, fields=tuple(_learned(each, field, refused) for field in each.fields))
            for each in functions]  # fmt: skip


def _learned(function: SiteFunction, field: Field, refused: Collection[Refusal]) -> Field:
    wanted = [kind for program, label, kind in refused if (program, label) == (function.program, field.label)]
    if not wanted:
        return field
    return dataclasses.replace(field, required=True, hint=wanted[0] or field.hint)


def _is_empty(field: Field) -> bool:
    return (
        field.kind not in ("checkbox", "radio") and not field.required and (field.kind == "select" or not field.value)
    )
