"""What kind of answer a reference is, and where things of that kind stand in a text."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator

import pint

from tars_jax.judges.answers import names
from tars_jax.judges.answers.clauses import RIGHT, RIVAL, UNSURE
from tars_jax.judges.answers.dates import compare_dates, dates_in, read_date
from tars_jax.judges.answers.numbers import with_figures
from tars_jax.judges.answers.quantities import quantities_in, read_quantity
from tars_jax.judges.answers.quantity import Quantity, Same, compare
from tars_jax.judges.answers.retold import asks_share, retelling
from tars_jax.judges.answers.signs import directed
from tars_jax.judges.answers.speech import ASKS_WHEN, ASKS_WHETHER, FRAMES
from tars_jax.judges.answers.times import compare_times, read_time, times_in
from tars_jax.judges.answers.words import Word, folded, roman_as_figures

_CHARGE = re.compile(r"\b(?:charged?|oxidation|ions?|valen)", re.IGNORECASE)
_FLAG = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")  # of a command
SIGNS = {Same.YES: RIGHT, Same.UNSURE: UNSURE, Same.NO: RIVAL, Same.OTHER: RIVAL}


def kind_of(reference: str, question: str) -> str | tuple[str, ...] | Callable[[str], str]:
    """yes or no, name, the parts of a list, or what marks numbers or days of that kind in a text."""
    if as_yes_or_no(reference) and (not reason_of(reference) or ASKS_WHETHER.match(question)):
        return "yes or no"
    if _FLAG.fullmatch(reference):

        def mark_flags(said: str) -> str:
            found = _FLAG.finditer(said)
            return _marked(said, ((*each.span(), RIGHT if each[0] == reference else RIVAL) for each in found))

        return mark_flags
    if (time := read_time(reference)) is not None:

        def mark_times(said: str) -> str:
            found = times_in(said, spans=time.to is not None)
            return _marked(said, ((a, b, SIGNS[compare_times(each, time)]) for a, b, each in found))

        return mark_times
    figures = roman_as_figures(reference)
    day = read_date(reference)
    if day is not None and (not day.is_bare or day.to or not question or ASKS_WHEN.search(question)):

        def mark_days(said: str) -> str:
            said = with_figures(re.sub(r"\b[MDCLXVI]{2,}\b", lambda found: roman_as_figures(found[0]), said)).text
            found = dates_in(said, spans=day.to is not None)
            return _marked(said, ((a, b, SIGNS[compare_dates(each, day)]) for a, b, each in found))

        return mark_days
    retell = retelling(reference, question)
    if figures == reference and (wanted := read_quantity(retell(reference), question)) is not None:
        shares = asks_share(question)

        def mark_numbers(said: str) -> str:
            told = retell(said)
            return _marked(told, _signs(told, wanted, shares, question))

        return mark_numbers
    parts = _parts(reference, question)
    return parts if len(parts) > 1 else "name"


def _signs(said: str, wanted: Quantity, shares: bool, question: str) -> Iterator[tuple[int, int, str]]:
    found = [_signed(said, each, wanted, question) for each in quantities_in(said)]
    days = [(a, b) for a, b, day in dates_in(said) if day.month is not None]
    exact = any(compare(each, wanted, shares=shares) is Same.YES for _, _, each in found)
    for start, end, each in found:
        same = compare(each, wanted, shares=shares)
        if (
            same is Same.YES
            and each.unit is None
            and isinstance(wanted.unit, pint.Unit)
            and _counts(said[end:], question)
        ):
            same = Same.UNSURE
        if each.is_both and not wanted.is_both and re.search(r"\d\W*\w{0,3}\s*$", said[:start]):
            continue  # how exact the number before it is
        if any(a <= start < b for a, b in days) and same is not Same.YES:
            continue
        if same is Same.OTHER or (same is Same.NO and _is_in_question(said[start:end], question)):
            continue
        if same is Same.UNSURE and exact:
            continue  # more exact beside it
        year = re.fullmatch(r"[12]\d{3}", said[start:end]) and re.search(
            r"\b(?:in|since|of|by|until|from|for|census|\() ?$", said[:start], re.IGNORECASE
        )
        if same is Same.NO and year:
            continue
        yield start, end, SIGNS[same]


def _signed(said: str, found: tuple[int, int, Quantity], wanted: Quantity, question: str) -> tuple[int, int, Quantity]:
    start, end, each = found
    if each.sign_after and not _CHARGE.search(question):
        each = dataclasses.replace(each, sign_after=0, is_signed=False)  # 3- is -3 of a charge alone
    if not wanted.is_signed or each.is_signed or each.high is not None:
        return start, end, each
    first, last, sign = directed(said, start, end)
    return (
        (first, last, dataclasses.replace(each, value=sign * each.value, is_glued=False))
        if sign
        else (start, end, each)
    )


def _counts(after: str, question: str) -> bool:
    """Whether a number without a unit counts what the question names: 37 respondents are no 37 %."""
    noun = re.match(r" ([^\W\d_]{3,})", after)
    return bool(noun and noun[1].casefold() not in FRAMES and re.search(rf"\b{noun[1]}\b", question, re.IGNORECASE))


def _is_in_question(text: str, question: str) -> bool:
    return bool(re.search(rf"(?<![\w.,]){re.escape(text)}(?![\w]|[.,]\d)", question))


def _marked(text: str, found: Iterator[tuple[int, int, str]]) -> str:
    pieces, done = [], 0
    for start, end, sign in found:
        pieces += [text[done:start], f" {sign} "]
        done = end
    return "".join((*pieces, text[done:]))


def _parts(reference: str, question: str) -> tuple[str, ...]:
    """Of a list; a reference of two that a comma parts is one place, or a list where the question asks for several."""
    many = re.search(r"\b(?:which|what|list|name|who)\b.*\b(?:\w+s|two|both|all|people)\b", question, re.IGNORECASE)
    if ";" in reference:
        found = reference.split(";")
    else:
        found = re.split(r"\s*,\s+and\s+|\s*,\s+|\s+and\s+", reference)
        is_moment = any(read_time(each) for each in found)  # 15 March, 18:00
        if len(found) == 2 and "," in reference and not (many or is_moment):
            return ()
        if len(found) == 2 and names.kinds_of(reference):
            return ()
    return tuple(each.strip() for each in found if each.strip())


def without_country(reference: str) -> tuple[Word, ...]:
    place, _, country = reference.rpartition(",")
    return names.words_of(place) if place and names.is_territory(country) else ()


_POLES = {
    **dict.fromkeys(("yes", "yep", "yeah", "yup", "true"), "yes"),
    **dict.fromkeys(("no", "nope", "nah", "false"), "no"),
}  # fmt: skip
_POLAR = re.compile(rf"\W*({'|'.join(_POLES)})\W*(?:[,;.:]\s+(.*))?", re.IGNORECASE | re.DOTALL)


def as_yes_or_no(text: str) -> str:
    """yes or no, of a text that is that alone or gives its reason after it: "No, it was refused"."""
    match = _POLAR.fullmatch(text.strip())
    return _POLES[match[1].casefold()] if match else ""


def reason_of(reference: str) -> str:
    """What stands after yes or no."""
    match = _POLAR.fullmatch(reference.strip())
    return match[2] or "" if match else ""


def lower_choices(question: str) -> set[str]:
    """ "a fruit or a vegetable"."""
    return {folded(each) for pair in re.findall(r"(\w+) or (?:an? |the )?(\w+)", question) for each in pair}
