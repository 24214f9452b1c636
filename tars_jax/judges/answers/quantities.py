"""Numbers with units as people write them, found in a text; and when two of them are the same.

    1,234  1 234  1'234  1.234.567  12,34,567  8,96  1.5 million  €80m  1.2e5  1.2 × 10^5  twelve  5 ft 11 in  10-20 km

Babel reads figures and words of size by the customs of several languages (CLDR) and knows currencies, number_parser
reads numbers in words, Pint knows units. A number is the same as a more exact one where it is that one rounded to three
digits or more. Units of one quantity are converted; a unit that is left out is the reference's own.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import math
import re
from collections.abc import Iterator

import pint

from tars_jax.judges.answers.numbers import (
    FIGURES,
    digits_of,
    readings_of,
    size_at,
    with_figures,
)
from tars_jax.judges.answers.units import counts_bits, currency, is_share, registry, unit_at

LEAST_DIGITS = 3  # that a rounded number must have
_WORD = r"[^\W\d_]+"
_NUMBER = re.compile(
    r"(?<![\w.^])(?P<sign>(?:plus or minus|minus|negative|plus|positive) |(?:±|\+/?-)\s?|[-+]\s?)?"
    r"(?P<money>[^\W\d_]{0,2}[$€£¥₹₽₩₺₫₪]|[A-Z]{3})?\s?"
    rf"(?P<minus>-)?(?P<figures>{FIGURES})(?P<power>\s?[x×*·]\s?10\s?\^\s?[-+]?\d{{1,2}}|[eE][-+]?\d{{1,2}}(?!\w))?"
)
_TOLERANCE = re.compile(r"\s*(?:±|\+/-)\s*(?P<value>\d+(?:\.\d+)?)\s*(?P<relative>%)?\s*$")
_BOUND = re.compile(
    r"(?:[<>≤≥≠]|\b(?:at (?:least|most)|(?:more|less|fewer|greater|other) than|over|under|above|below|up to|nearly"
    r"|almost|not quite|just short of|upwards of|exceeding|half(?: of)?|twice|double))\s*$",
    re.IGNORECASE,
)
_BOUND_AFTER = re.compile(
    r"\s*(?:\+(?![\w+])|[<>≤≥≠]|or (?:more|less|fewer|so|over|under)\b|and (?:more|up|over)\b)", re.IGNORECASE
)
_TO = re.compile(r"\s*(?:-|to|and|through|until|till)\s*", re.IGNORECASE)


class Same(enum.Enum):
    """How an answer's quantity stands to the reference."""

    YES = enum.auto()
    NO = enum.auto()
    UNSURE = enum.auto()  # by another custom it is the same, or it is more exact, or a bound
    OTHER = enum.auto()  # of another kind: no answer to the question


@dataclasses.dataclass(frozen=True)
class Quantity:
    value: float  # as written, before its unit; with its word of size
    unit: pint.Unit | frozenset[str] | None = None  # of Pint; the currencies that it may be; None: none that is known
    high: float | None = None  # of a range, whose `value` is the lower end
    digits: int = 15  # that are significant
    decimals: int = 0  # as written; below 0: it ends with zeros
    other: float | None = None  # by another custom
    is_bound: bool = False  # at least, almost, or more
    tolerance: float = 0.0  # of a reference, in its own unit
    is_year: bool = False
    rounds: bool = False  # whether as a reference it is told by a rounded number, too
    is_signed: bool = False  # as written
    is_both: bool = False  # plus or minus
    sign_after: int = 0  # as chemists write it: 2+, 3-
    is_glued: bool = False  # letters follow at once that are no unit
    end: int = dataclasses.field(default=0, compare=False)  # in its text


def compare(said: Quantity, wanted: Quantity, *, shares: bool = False) -> Same:
    """`shares`: the question asks for a share, so that 0.81 is 81 %."""
    if shares and wanted.unit is None and is_share(said.unit):
        said = dataclasses.replace(said, value=said.value / 100, unit=None)
    if _converted(said, wanted) is None:
        return Same.OTHER
    if (said.high is None) != (wanted.high is None):
        return Same.NO
    if said.high is not None and wanted.high is not None:
        ends = (
            dataclasses.replace(said, value=said.high, high=None),
            dataclasses.replace(wanted, value=wanted.high, high=None),
        )
        low = dataclasses.replace(said, high=None), dataclasses.replace(wanted, high=None)
        both = {compare(*low), compare(*ends)}
        return both.pop() if len(both) == 1 else Same.NO
    if wanted.is_signed and said.sign_after:
        said = dataclasses.replace(said, value=said.sign_after * abs(said.value), is_bound=False)
    if said.is_both != wanted.is_both:
        is_bare = wanted.is_both and not said.is_signed and _is_close(said.value, wanted.value)
        return Same.UNSURE if is_bare else Same.NO
    converted = _converted(said, wanted)
    assert converted is not None
    if said.is_glued and not wanted.is_glued and _is_close(converted, wanted.value):
        return Same.UNSURE
    if said.is_bound != wanted.is_bound:
        return Same.OTHER
    if abs(converted - wanted.value) <= max(wanted.tolerance, 1e-9 * abs(wanted.value)):
        return Same.YES
    if said.unit is None and is_share(wanted.unit) and _is_close(100 * converted, wanted.value):
        return Same.YES if shares else Same.UNSURE
    if said.other is not None and _is_close(said.other, wanted.value):
        return Same.UNSURE
    if wanted.is_year or wanted.tolerance:
        return Same.NO
    return _rounded_same(said, wanted, converted)


def _rounded_same(said: Quantity, wanted: Quantity, converted: float) -> Same:
    if wanted.rounds and said.digits >= LEAST_DIGITS:
        back = _converted(wanted, said)
        if back is not None and _is_close(float(f"{back:.{said.digits}g}"), said.value):
            return Same.YES
    is_exact = wanted.decimals and wanted.rounds and _is_close(round(converted, wanted.decimals), wanted.value)
    return Same.UNSURE if is_exact else Same.NO


def _converted(said: Quantity, wanted: Quantity) -> float | None:
    """In the reference's unit; None where that is of another kind."""
    if said.unit is None or said.unit == wanted.unit:
        return said.value
    if str(said.unit) == "degree" and str(wanted.unit).startswith("degree_"):
        return said.value
    if isinstance(said.unit, frozenset):
        same = wanted.unit is None or (isinstance(wanted.unit, frozenset) and bool(said.unit & wanted.unit))
        return said.value if same else None
    if not isinstance(wanted.unit, pint.Unit) or is_share(said.unit) != is_share(wanted.unit):
        return None
    if {str(said.unit), str(wanted.unit)} == {"point", "percentage_point"}:
        return said.value
    if "percentage_point" in (str(said.unit), str(wanted.unit)):
        return None
    if said.unit.dimensionality != wanted.unit.dimensionality or counts_bits(said.unit) != counts_bits(wanted.unit):
        return None
    return float(registry().Quantity(said.value, said.unit).to(wanted.unit).magnitude)


def _is_close(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-9 * max(abs(one), abs(other))


def read_quantity(text: str, question: str = "") -> Quantity | None:
    """The quantity that a reference is, whole; None where it is something else. Words after it that are no unit may be
    what is counted. Its unit may be the one that the question names."""
    tolerance = _TOLERANCE.search(text) if text.strip()[:1].isdigit() else None
    bare = (text[: tolerance.start()] if tolerance else text).strip().rstrip(".")
    if (bound := re.match(rf"(?:{_BOUND.pattern[:-4]})\s*", bare, re.IGNORECASE)) and bound.end():
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
    year = re.fullmatch(r"[12]\d{3}", bare) and not re.search(
        r"\bhow (?:many|much|long|far|high|tall|big|large|deep)\b", question, re.IGNORECASE
    )
    counted = re.search(
        r"\bhow (?!do|is|was|are|were)\w+|\b(?:population|number of|total|amount|average)\b", question, re.IGNORECASE
    )
    rounds = (
        quantity.unit is not None
        or bool(rest or counted)
        or "," in bare
        or "." in bare
        or (quantity.digits < 15 - 0 and " " in bare)
    )
    return dataclasses.replace(quantity, is_year=bool(year), rounds=rounds and not year)


@functools.lru_cache(maxsize=256)
def unit_asked(question: str) -> pint.Unit | None:
    """The one that a question names: "how many kilometers", "(in km)", "in square meters"."""
    for match in re.finditer(r"\b(?:how many|in|number of)\s+", question, re.IGNORECASE):
        unit, end = unit_at(question, match.end()) or (None, 0)
        is_alone = end - match.end() > 2 or question[end : end + 1] in (")", "?", ",", "")
        if isinstance(unit, pint.Unit) and (match[0][0] in "hH" or is_alone):
            return unit
    if re.search(r"\bhow old\b|\bages?\b", question, re.IGNORECASE):
        return registry().Unit("year")
    if re.search(r"\b(?:latitude|longitude)\b", question, re.IGNORECASE):
        return registry().Unit("degree")
    return (
        registry().Unit("percent") if re.search(r"\bpercent(?:age)?\b(?! points?)", question, re.IGNORECASE) else None
    )


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
    units = isinstance(first.unit, pint.Unit) and isinstance(second.unit, pint.Unit)
    if units and re.fullmatch(r"[\s,]*(?:and\s+)?", between):
        assert isinstance(first.unit, pint.Unit) and isinstance(second.unit, pint.Unit)
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
    if re.match(r" and a half\b", text[end:]):
        readings, digits, decimals, end = [readings[0] + 0.5], digits + 1, 1, end + len(" and a half")
    while size := size_at(text, end, money is not None):
        factor, end = factor * size[0], size[1]
        decimals -= round(math.log10(size[0]))
    unit: pint.Unit | frozenset[str] | None = money
    if found := unit_at(text, end):
        named = found[0]
        if money is None:
            unit, end = named, found[1]
        elif isinstance(named, frozenset):
            unit, end = money & named or money, found[1]
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
    after = _BOUND_AFTER.match(text, end)
    if (match["minus"] and sign) or re.search(r"[-+]\s?\(\s?$", text[: match.start()]):
        return None
    is_bound = bool(_BOUND.search(text[: match.start()]) or after)
    value = readings[0] * factor * (-1 if negative else 1)
    if not math.isfinite(value):
        return None
    other = readings[1] * factor if len(readings) > 1 else None
    return Quantity(
        value, unit, None, digits, decimals, other, is_bound, end=after.end() if after else end,
        is_signed=bool(sign or match["minus"] or sign_after), is_both=sign in ("±", "+/-", "+-", "plus or minus"),
        sign_after=sign_after, is_glued=bool(re.match(r"[^\W\d_]", text[end:])),
    )  # fmt: skip


def _quantity_without(text: str, match: re.Match[str]) -> Quantity | None:
    """Three capitals that are no currency are a word before the number."""
    bare = _NUMBER.match(text, match.start("figures"))
    return _quantity(text, bare) if bare else None
