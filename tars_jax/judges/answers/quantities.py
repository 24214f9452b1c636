"""Numbers with units as people write them, found in a text.

    1,234  1 234  1'234  1.234.567  12,34,567  8,96  1.5 million  €80m  1.2e5  1.2 × 10^5  twelve  5 ft 11 in  10-20 km

Babel reads figures and words of size by the customs of several languages (CLDR) and knows currencies, number_parser
reads numbers in words, Pint knows units.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tars_jax.judges.answers.numbers import (
    FIGURES,
    digits_of,
    readings_of,
    size_at,
    with_figures,
)
from tars_jax.judges.answers.quantity import Quantity
from tars_jax.judges.answers.question_forms import asked_part
from tars_jax.judges.answers.units import currency, is_unit, rate_at, registry, unit_at

if TYPE_CHECKING:
    import pint

_WORD = r"[^\W\d_]+"
_NUMBER = re.compile(
    r"(?<![\w.^])(?P<sign>(?:plus or minus|minus|negative|plus|positive) |(?:±|\+/?-)\s?|[-+]\s?)?"
    r"(?P<money>[^\W\d_]{0,2}[$€£¥₹₽₩₺₫₪]|[A-Z]{3})?\s?"
    rf"(?P<minus>-)?(?P<figures>{FIGURES})(?P<power>\s?[x×*·]\s?10\s?(?:\^|\*\*)\s?[-+]?\d{{1,2}}|[eE][-+]?\d{{1,2}}(?!\w))?"
)
_TOLERANCE = re.compile(r"\s*(?:±|\+/-)\s*(?P<value>\d+(?:\.\d+)?)\s*(?P<relative>%)?\s*$")
_SIDES = {
    ">": "more than|greater than|over|above|exceeding|>",
    ">=": "at least|no fewer than|no less than|or more|and more|and up|and over|or over|min|≥|+",
    "<": "less than|fewer than|under|below|<",
    "<=": "at most|no more than|up to|or less|or fewer|or under|max|≤|tops",
}
BOUND = re.compile(
    r"(?:[<>≤≥≠]|\b(?:at (?:least|most)|(?:no )?(?:more|less|fewer|greater|other) than|over|under|above|below|up to"
    r"|nearly|almost|not quite|just short of|upwards of|exceeding|half(?: of)?|twice|double))\s*$",
    re.IGNORECASE,
)
BOUND_AFTER = re.compile(
    r"\s*(?:\+(?![\w+])|[<>≤≥≠]|or (?:more|less|fewer|so|over|under)\b|and (?:more|up|over)\b"
    r"|at (?:most|least)\b|(?:max|min)(?:imum)?\b|tops\b)",
    re.IGNORECASE,
)
ABOUT = re.compile(
    r"^(?:(?:exactly|about|around|approximately|roughly|circa|some)\s+|(?:approx|ca|c)\.?\s+|[~≈]\s?)", re.IGNORECASE
)
_AND_A_HALF = " and a half"
_COUNTS = re.compile(
    r"\bhow (?!do|is|was|are|were)\w+|\b(?:population|number of|total|amount|average)\b", re.IGNORECASE
)
_TO = re.compile(r"\s*(?:-|to|and|through|until|till)\s*", re.IGNORECASE)


def read_quantity(text: str, question: str = "") -> Quantity | None:
    """The quantity that a reference is, whole; None where it is something else. Words after it that are no unit may be
    what is counted. Its unit may be the one that the question names."""
    text = ABOUT.sub("", text)
    tolerance = _TOLERANCE.search(text) if text.strip()[:1].isdigit() else None
    bare = (text[: tolerance.start()] if tolerance else text).strip().rstrip(".")
    if (bound := re.match(rf"(?:{BOUND.pattern[:-4]})\s*", bare, re.IGNORECASE)) and bound.end():
        start = bound.end()
    else:
        start = 0
    found = next(quantities_in(bare), None)
    if found is None or found[0] > start:
        return None
    _, end, quantity = found
    rest = bare[end:].strip()
    if rest in ("in", "in."):
        quantity, rest = dataclasses.replace(quantity, unit=registry().Unit("inch")), ""
    if rest and not re.fullmatch(rf"{_WORD}(?:[ -]{_WORD}){{0,3}}", rest):
        return None
    if rest and (not bare[0].isdigit() and quantity.unit is None):
        return None
    if tolerance:
        amount = float(tolerance["value"])
        quantity = dataclasses.replace(
            quantity, tolerance=abs(quantity.value) * amount / 100 if tolerance["relative"] else amount
        )
    if quantity.unit is None and not rest:
        quantity = dataclasses.replace(quantity, unit=unit_asked(question))
    if isinstance(quantity.unit, frozenset) and quantity.per is None:
        quantity = dataclasses.replace(quantity, per=rate_asked(question))
    year = re.fullmatch(r"[12]\d{3}", bare) and not re.search(
        r"\bhow (?:many|much|long|far|high|tall|big|large|deep)\b", question, re.IGNORECASE
    )
    exact = re.search(r"\b(?:decimals?|digits?|exact(?:ly)?|precise(?:ly)?)\b", question, re.IGNORECASE)
    counted = _COUNTS.search(question)
    rounds = (
        quantity.unit is not None
        or bool(rest or counted)
        or "," in bare
        or "." in bare
        or (quantity.digits < 15 - 0 and " " in bare)
    )
    return dataclasses.replace(quantity, is_year=bool(year), rounds=rounds and not year and not exact)


@functools.lru_cache(maxsize=256)
def unit_asked(question: str) -> pint.Unit | None:
    """The one that a question names: "how many kilometers", "(in km)", "in square meters". What it tells besides of the
    thing, as of a city by its longitude, says nothing of what it counts."""
    asked = asked_part(question)
    told = None if _COUNTS.search(asked) else _unit_of_measure(question)
    return _unit_named(asked) or _unit_of_measure(asked) or _unit_named(question) or told


def _unit_named(question: str) -> pint.Unit | None:
    for match in re.finditer(r"\b(?:how many|in|number of)\s+", question, re.IGNORECASE):
        unit, end = unit_at(question, match.end()) or (None, 0)
        is_alone = end - match.end() > 2 or question[end : end + 1] in (")", "?", ",", "")
        if is_unit(unit) and (match[0][0] in "hH" or is_alone):
            return unit
    return None


def _unit_of_measure(question: str) -> pint.Unit | None:
    if re.search(r"\bhow old\b|\bages?\b", question, re.IGNORECASE):
        return registry().Unit("year")
    if re.search(r"\b(?:latitude|longitude)\b", question, re.IGNORECASE):
        return registry().Unit("degree")
    return (
        registry().Unit("percent") if re.search(r"\bpercent(?:age)?\b(?! points?)", question, re.IGNORECASE) else None
    )


def rate_asked(question: str) -> pint.Unit | None:
    """Unit of a price that a question asks for: "how much is it per kg", "what does a kilogram cost"."""
    found = (rate_at(question, match.start()) for match in re.finditer(r" (?:per|an?|each|every) ", question))
    return next((rate[1] for rate in found if rate), None)


def quantities_in(text: str) -> Iterator[tuple[int, int, Quantity]]:
    """(start, end, what) of each in a text that is `words.plain`; neighbors that are one are one."""
    spelled = with_figures(text)
    waiting: tuple[int, int, Quantity] | None = None
    for start, end, found in _single(spelled.text):
        if waiting is not None:
            between = spelled.text[waiting[1] : start]
            if str(waiting[2].unit) == "foot" and (inches := re.match(r" ?(?:in\b|\")", spelled.text[end:])):
                found, end = dataclasses.replace(found, unit=registry().Unit("inch")), end + inches.end()
            if joined := _joined(waiting[2], between, found, spelled.text[: waiting[0]]):
                waiting = (waiting[0], end, joined)
                continue
            yield spelled.place(waiting[0]), spelled.place(waiting[1]), waiting[2]
        waiting = (start, end, found)
    if waiting is not None:
        yield spelled.place(waiting[0]), spelled.place(waiting[1]), waiting[2]


def _joined(first: Quantity, between: str, second: Quantity, before: str) -> Quantity | None:
    """5 ft 11 in; 10 to 20 km; between 10 and 20."""
    if first.high is not None or second.high is not None:
        return None
    units = is_unit(first.unit) and is_unit(second.unit)
    if units and re.fullmatch(r"[\s,]*(?:and\s+)?", between):
        assert is_unit(first.unit) and is_unit(second.unit)
        smaller = second.unit
        if str(first.unit) == "hour" and str(smaller) == "meter":
            smaller = registry().Unit("minute")
        if first.unit.dimensionality == smaller.dimensionality and first.unit != smaller:
            part = float(registry().Quantity(second.value, smaller).to(first.unit).magnitude)
            if 0 <= part < 1 and not first.unit.dimensionless:
                return dataclasses.replace(
                    first, value=first.value + math.copysign(part, first.value), digits=15, other=None
                )
    is_range = _TO.fullmatch(between) and (
        between.strip().lower() != "and" or re.search(r"\bbetween\s*$", before, re.IGNORECASE)
    )
    if is_range and (first.unit is None or first.unit == second.unit) and second.value >= 0:
        high = second.value
        if 1000 <= first.value < 3000 and high < 100 and first.unit is None:  # 1914-18
            high += first.value // 100 * 100
        low = first.value
        if low < high:
            return dataclasses.replace(second, value=low, high=high, other=None)
    return None


def _side(words: str) -> str:
    """The side of a number that such words leave open; the words themselves where they say something else, as
    "almost"."""
    said = " ".join(words.casefold().split())
    return next((side for side, ways in _SIDES.items() if said in ways.split("|")), said)


def _single(text: str) -> Iterator[tuple[int, int, Quantity]]:
    place = 0
    while match := _NUMBER.search(text, place):
        found = _quantity(text, match)
        if found is None:
            place = match.end()
            continue
        place = found.end
        yield match.start(), found.end, found


def _quantity(text: str, match: re.Match[str]) -> Quantity | None:
    figures = match["figures"]
    readings = readings_of(figures)
    if not readings:
        return None
    end = match.end()
    factor = 1.0
    digits, decimals = digits_of(figures, readings[0])
    if power := match["power"]:
        exponent = int(re.search(r"[-+]?\d+$", power.replace(" ", ""))[0])  # type: ignore[index]
        factor, decimals = 10.0**exponent, decimals - exponent
    money = currency(match["money"]) if match["money"] else None
    if match["money"] and money is None:
        return _quantity_without(text, match)
    while (size := size_at(text, end, money is not None)) or text.startswith(_AND_A_HALF, end):
        if size is None:
            readings, digits, decimals, end = [readings[0] + 0.5], digits + 1, 1, end + len(_AND_A_HALF)
            continue
        factor, end = factor * size[0], size[1]
        decimals -= round(math.log10(size[0]))
    unit: pint.Unit | frozenset[str] | None = money
    if found := unit_at(text, end):
        named = found[0]
        if money is None:
            unit, end = named, found[1]
        elif isinstance(named, frozenset):
            unit, end = money & named or money, found[1]
    if is_unit(unit) and text.startswith(_AND_A_HALF, end):
        readings, digits, decimals, end = [readings[0] + 0.5], digits + 1, 1, end + len(_AND_A_HALF)
    per: pint.Unit | str | None = None
    if rate := rate_at(text, end) if unit is not None else None:
        amount, below_it, end = rate
        factor /= amount
        unit, per = (unit / below_it, None) if is_unit(unit) else (unit, below_it)
    elif isinstance(unit, frozenset) and (thing := re.match(r" ?(?:/|per ) ?([^\W\d_]{3,})", text[end:])):
        per, end = thing[1].casefold(), end + thing.end()
    if str(unit) == "hour" and (minutes := re.match(r"[0-5]\d(?!\d)", text[end:])):  # 2h45
        readings, digits, end = [readings[0] + int(minutes[0]) / 60], 15, end + 2
    sign = (match["sign"] or "").strip().lower()
    negative = sign in ("minus", "negative") or bool(match["minus"])
    if sign == "-":
        apart = r"[\w)]$" if match["sign"] == "-" else r"[\w)]\s*$"  # 5 -3 and 5 - 3
        negative = not re.search(apart, text[: match.start()])
    signs = re.match(r"([-+])(?![\w+-]|\s*\d)", text[end:]) if not sign and unit is None else None
    sign_after = {"+": 1, "-": -1}[signs[1]] if signs else 0
    if sign_after == -1 and signs:
        end += signs.end()
    below = re.match(r"\s*(?:degrees )?below (?:zero|0)\b", text[end:])
    if below:
        negative, end = True, end + below.end()
    after = BOUND_AFTER.match(text, end)
    if (match["minus"] and sign) or re.search(r"[-+]\s?\(\s?$", text[: match.start()]):
        return None
    before = BOUND.search(text[: match.start()])
    bound = "".join(_side(each[0]) for each in (before, after) if each)
    value = readings[0] * factor * (-1 if negative else 1)
    if not math.isfinite(value):
        return None
    other = readings[1] * factor if len(readings) > 1 else None
    is_expression = text[: match.start("figures")].rstrip("-").endswith("|") and text.startswith("|", end)
    is_glued = is_expression or bool(re.match(r"[^\W\d_]|\)?\^", text[end:]))
    return Quantity(
        value, unit, per, None, digits, decimals, other, bound, end=after.end() if after else end,
        is_signed=bool(sign or match["minus"] or sign_after), is_both=sign in ("±", "+/-", "+-", "plus or minus"),
        sign_after=sign_after, is_glued=is_glued,
    )  # fmt: skip


def _quantity_without(text: str, match: re.Match[str]) -> Quantity | None:
    """Three capitals that are no currency are a word before the number."""
    bare = _NUMBER.match(text, match.start("figures"))
    return _quantity(text, bare) if bare else None
