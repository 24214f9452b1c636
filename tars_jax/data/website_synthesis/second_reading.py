"""A second reading: which functions of a site an instruction's words alone could mean, and with which values.

It knows nothing of how the instruction was composed. What stands in quotation marks is a value where a field's label
stands before it, else it must be a name that the page, the button or an option has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tars_jax.data.website_synthesis.composition import MARKS
from tars_jax.data.website_synthesis.functions import CATEGORY_WORDS, SiteFunction
from tars_jax.data.website_synthesis.phrases import field_name, read_heading
from tars_jax.data.website_synthesis.wording import QUOTED, noun_of

_BETWEEN = re.compile(r"\s*(to|is|as|of|at|:|=|,)?\s*$", re.IGNORECASE)
_OTHER_VERBS = re.compile(r"\b(make|get rid of|adjust|press|go)\b", re.IGNORECASE)


def read(instruction: str, function: SiteFunction) -> Mapping[str, str] | None:
    """The values by label, where the instruction can mean this function; None where it cannot."""
    if not _is_about(instruction, function):
        return None
    fields = {each.label: each for each in function.fields}
    by_length = sorted(fields, key=lambda label: len(field_name(label)), reverse=True)
    names = {each.lower() for each in (*_names_of(function), function.button)}
    values: dict[str, str] = {}
    for match in QUOTED.finditer(instruction):
        said = match[1]
        before = instruction[: match.start()].rstrip()
        label = next((each for each in by_length if _ends_with(before, field_name(each))), None)
        if label is None and said.lower() not in names:
            label = next((each for each in by_length if _ends_with(_BETWEEN.sub("", before), field_name(each))), None)
        if label is not None and fields[label].kind not in MARKS:
            if label in values or (fields[label].kind == "select" and said not in fields[label].options):
                return None
            values[label] = said
        elif said in fields and fields[said].kind in MARKS:
            values[said] = "off" if instruction[match.end() :].lstrip().startswith("not ") else "on"
        elif said.lower() not in names:
            return None
    return values


def readings(instruction: str, functions: Sequence[SiteFunction]) -> list[tuple[SiteFunction, Mapping[str, str]]]:
    """All that the instruction can mean on this site; the ways to one function are one reading."""
    found: dict[tuple[object, ...], tuple[SiteFunction, Mapping[str, str]]] = {}
    for function in functions:
        values = read(instruction, function)
        if values is not None:
            found.setdefault(
                (function.action, function.button, function.row, tuple(sorted(values.items()))), (function, values)
            )
    return list(found.values())


def _is_about(instruction: str, function: SiteFunction) -> bool:
    """Whether its verb is of the function's category, and the page, the button or the noun is named."""
    quoted = {each.lower() for each in QUOTED.findall(instruction)}
    plain = QUOTED.sub(" ", instruction)
    told = [name for name, pattern in CATEGORY_WORDS.items() if pattern.search(plain)]
    if told and function.category not in told and not _OTHER_VERBS.search(plain):
        return False
    nouns = filter(None, (noun_of(function), *(read_heading(each).noun for each in function.places)))
    return function.button.lower() in quoted and (
        _any_of(_names_of(function), quoted) or any(_names(plain, noun) for noun in nouns)
    )


def _names_of(function: SiteFunction) -> list[str]:
    """Names of a function's page, and of the thing that its page is about."""
    return [*function.places, *filter(None, (read_heading(each).name for each in function.places))]


def _any_of(names: Iterable[str], quoted: set[str]) -> bool:
    return any(each.lower() in quoted for each in names)


def _names(text: str, noun: str) -> bool:
    return re.search(rf"\b{re.escape(noun.lower())}\b", text.lower()) is not None


def _ends_with(text: str, label: str) -> bool:
    return text.lower().endswith(label.lower()) and not text[: len(text) - len(label)][-1:].isalnum()
