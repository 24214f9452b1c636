"""Whether an answer says what the reference says: by type where both are numbers, dates or lists, else by words.

Numbers are equal with their units, whatever the writing (1,234 km², 1.5 million, 12 %); a reference may carry a
tolerance (`12 km ± 1`, `12 km ± 5%`). Dates are equal in any usual form. Lists are sets. Alternatives stand
between ` || `.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Callable

ALTERNATIVES = " || "
_SIZES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_UNITS = {  # spelling -> (quantity, factor)
    "km": ("m", 1e3), "kilometers": ("m", 1e3), "kilometres": ("m", 1e3), "m": ("m", 1.0), "meters": ("m", 1.0),
    "metres": ("m", 1.0), "cm": ("m", 0.01), "pm": ("m", 1e-12), "sq km": ("m2", 1e6),
    "square kilometers": ("m2", 1e6), "square kilometres": ("m2", 1e6), "%": ("%", 1.0), "percent": ("%", 1.0),
    "per cent": ("%", 1.0), "years": ("years", 1.0), "year": ("years", 1.0), "kg": ("kg", 1.0),
    "g": ("kg", 1e-3), "°": ("°", 1.0),
    "degrees": ("°", 1.0),
}  # fmt: skip
_NUMBER = re.compile(
    r"(?P<value>[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?)\s*(?P<size>thousand|million|billion|trillion)?"
    r"\s*(?P<unit>[^\d±]*)(?:±\s*(?P<tolerance>\d+(?:\.\d+)?)\s*(?P<relative>%)?)?"
)
_FORMS = (
    "%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d %B %Y", "%d %b %Y", "%B %d %Y", "%b %d %Y", "%d of %B %Y", "%Y %B %d",
)  # fmt: skip
_AND = re.compile(r"\s*(?:[,;]\s*and\s+|[,;]|\s+and\s+)\s*")


def says_the_same(answer: str, reference: str, words: Callable[[str], tuple[str, ...]]) -> bool:
    """`words` tells what makes a difference in a text without a type."""
    return any(_same(answer, each, words) for each in reference.split(ALTERNATIVES))


def _same(answer: str, reference: str, words: Callable[[str], tuple[str, ...]]) -> bool:
    if words(answer) == words(reference):
        return True
    wanted_date, said_date = _date(reference), _date(answer)
    if wanted_date or said_date:
        return wanted_date == said_date
    if (wanted := _quantity(reference)) is not None:
        said = _quantity(answer)
        return said is not None and _close(said, wanted)
    parts, said_parts = _AND.split(reference), _AND.split(answer)
    if len(parts) > 1 and len(parts) == len(said_parts):
        return {words(part) for part in parts} == {words(part) for part in said_parts}
    return _bare(words(answer)) == _bare(words(reference))


def _close(said: tuple[float, str, float, bool], wanted: tuple[float, str, float, bool]) -> bool:
    (value, unit, _, _), (right, right_unit, tolerance, relative) = said, wanted
    if unit and unit != right_unit:  # a unit may be left out, not be another
        return False
    if not unit and right_unit in ("m", "m2", "kg"):
        # Without one the reference's own is meant.
        value *= wanted[0] / _written(wanted)
    allowed = abs(right) * tolerance / 100 if relative else tolerance
    return abs(value - right) <= max(allowed, 1e-9 * abs(right))


def _written(wanted: tuple[float, str, float, bool]) -> float:
    return getattr(wanted, "written", 0.0) or wanted[0] or 1.0


class _Quantity(tuple[float, str, float, bool]):
    written: float  # the number before its unit


def _quantity(text: str) -> _Quantity | None:
    """(value in its base unit, unit, tolerance, whether that is in percent)."""
    plain = unicodedata.normalize("NFKC", re.sub(r"\bkm(?:²|2|\^2)(?!\w)", "sq km", text)).strip().strip(".").casefold()
    plain = re.sub(r"^(?:about|approximately|around|roughly|it is|it was|the answer is)\s+", "", plain)
    found = _NUMBER.fullmatch(plain)
    if found is None:
        return None
    unit = found["unit"].strip()
    quantity, factor = _UNITS.get(unit, (unit, 1.0))
    number = float(found["value"].replace(",", "").replace("−", "-")) * _SIZES.get(found["size"] or "", 1.0)
    tolerance, relative = float(found["tolerance"] or 0), bool(found["relative"])
    made = _Quantity((number * factor, quantity, tolerance if relative else tolerance * factor, relative))
    made.written = number
    return made


def _date(text: str) -> datetime.date | None:
    plain = re.sub(r"(\d)(?:st|nd|rd|th)\b", r"\1", text.strip().strip(".").replace(",", " "))
    plain = " ".join(re.sub(r"^(?:on|the)\s+", "", plain, flags=re.IGNORECASE).split())
    for form in _FORMS:
        try:
            return datetime.datetime.strptime(plain, form).date()
        except ValueError:
            pass
    return None


def _bare(words: tuple[str, ...]) -> tuple[str, ...]:
    """Without accents, dashes and the words that sentences open answers with."""
    text = " ".join(words)
    plain = "".join(each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))
    plain = re.sub(r"^(?:it is|it was|it's|the answer is|answer is|answer:)\s+(?:the )?", "", plain)
    return tuple(re.sub(r"[-‐‑–—_/]", " ", plain).split())
