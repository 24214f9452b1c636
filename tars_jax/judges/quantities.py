"""Numbers with units as people write them, found in a text; and when two of them are the same.

    1,234  1234  1 234  1'234  1.234.567  8,96  1.5 million  twelve  minus 12 °C  1.2e5  one hundred ninety-one

A number is the same as a more exact one where it is that one rounded to three digits or more. Units of one quantity
are converted; another quantity is another answer, and a unit that is left out is the reference's own.
"""

from __future__ import annotations

import dataclasses
import math
import re
import unicodedata
from collections.abc import Iterator

LEAST_DIGITS = 3  # that a rounded number must have
_SIZES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_UNITS: dict[str, tuple[str, float]] = {
    spelled: (quantity, factor)
    for quantity, factor, spellings in (
        ("length", 1e3, "km|kilometers|kilometres|kilometer|kilometre"),
        ("length", 1.0, "m|meters|metres|meter|metre"),
        ("length", 0.01, "cm|centimeters|centimetres"),
        ("length", 1e-12, "pm|picometers|picometres"),
        ("length", 1609.344, "mi|miles|mile"),
        ("length", 0.3048, "ft|feet|foot"),
        ("area", 1e6, "km2|km^2|sq km|sq. km|square km|square kilometers|square kilometres"),
        ("area", 1.0, "m2|m^2|square meters|square metres"),
        ("area", 2589988.110336, "square miles|sq mi|sq. mi|mi2"),
        ("area", 1e4, "ha|hectares"),
        ("share", 1.0, "%|percent|per cent|pct"),
        ("years", 1.0, "years|year|yrs|years old"),
        ("mass", 1.0, "kg|kilograms|kilogrammes"),
        ("mass", 1e-3, "g|grams|grammes"),
        ("mass", 0.45359237, "lb|lbs|pounds"),
        ("density", 1.0, "kg/m3|kg/m^3|kilograms per cubic meter|kilograms per cubic metre"),
        ("density", 1e3, "g/cm3|g/cm^3|g/cc|grams per cubic centimeter|grams per cubic centimetre"),
        ("celsius", 1.0, "°c|degrees celsius|degree celsius|celsius"),
        ("fahrenheit", 1.0, "°f|degrees fahrenheit|fahrenheit"),
        ("angle", 1.0, "°|degrees|degree"),
        ("dollars", 1.0, "$|usd|us$|dollars|us dollars"),
        ("euros", 1.0, "€|eur|euros|euro"),
        ("pounds sterling", 1.0, "£|gbp"),
    )
    for spelled in spellings.split("|")
}
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_WORDS = {word: number for number, word in enumerate(_ONES.split())}
_WORDS |= {word: 10 * number for number, word in enumerate(_TENS.split(), 2)}
_WORD = "|".join(sorted((*_WORDS, "hundred"), key=len, reverse=True))
_SPELLED = rf"(?:{_WORD})(?:(?:[ -]|[ ]and[ ])(?:{_WORD}))*"
_FIGURES = (
    r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3}){2,}|\d{1,3}(?:['’]\d{3})+"
    r"|\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)"
    r"|\d+(?:[.,]\d+)?(?:e[-+]?\d{1,2})?)"
)
_UNIT = "|".join(re.escape(each) for each in sorted(_UNITS, key=len, reverse=True))
_NUMBER = re.compile(
    rf"(?<![\w.,])(?P<sign>minus |[-+−]\s?)?(?P<before>us\$|[$€£]|usd|eur|gbp)?\s?"
    rf"(?P<value>{_FIGURES}|\b{_SPELLED}\b)(?:\.0+\b)?"
    rf"(?:[ -]?(?P<size>thousand|million|billion|trillion)\b)?(?:[ \u00a0-]?(?P<unit>{_UNIT})(?!\w))?(?!\w)"
)
_TOLERANCE = re.compile(r"\s*±\s*(?P<value>\d+(?:\.\d+)?)\s*(?P<relative>%)?\s*$")


@dataclasses.dataclass(frozen=True)
class Quantity:
    value: float  # as written, before its unit; with its word of size
    unit: str = ""  # as written
    digits: int = 15  # that are significant
    tolerance: float = 0.0  # of a reference, in its own unit
    is_year: bool = False

    def says(self, wanted: Quantity) -> bool:
        """Whether an answer of this is right where `wanted` is the reference."""
        quantity, factor = _UNITS.get(self.unit, (self.unit, 1.0))
        right_quantity, right_factor = _UNITS.get(wanted.unit, (wanted.unit, 1.0))
        if not math.isfinite(self.value) or (self.unit and quantity != right_quantity):
            return False
        value = self.value if not self.unit else self.value * factor / right_factor
        if abs(value - wanted.value) <= max(wanted.tolerance, 1e-9 * abs(wanted.value)):
            return True
        if right_quantity == "share" and not self.unit and abs(100 * value - wanted.value) < 1e-9 * abs(wanted.value):
            return True
        if self.digits < LEAST_DIGITS or wanted.is_year or wanted.tolerance:
            return False
        right = wanted.value if not self.unit else wanted.value * right_factor / factor
        return abs(rounded(right, self.digits) - self.value) <= 1e-9 * abs(self.value)


def read_quantity(text: str) -> Quantity | None:
    """The quantity that a reference is, whole; None where it is something else."""
    plain = folded(text).strip().rstrip(".")
    tolerance = _TOLERANCE.search(plain)
    if tolerance:
        plain = plain[: tolerance.start()]
    match = _NUMBER.match(plain)
    if match is None:
        return None
    rest = plain[match.end() :].strip()
    more = bool(rest) if match["unit"] else re.search(r"[\d,;]", rest) and not rest.startswith("per ")
    if more and not re.fullmatch(r"[a-z]+ per [\d,]+ [a-z]+", rest):
        return None
    found = _quantity(match)
    if rest:
        if len(rest.split()) > 5 or match["value"][0].isalpha():
            return None
        found = dataclasses.replace(found, unit=f"{found.unit} {rest}".strip())
    if tolerance:
        amount = float(tolerance["value"])
        found = dataclasses.replace(
            found, tolerance=abs(found.value) * amount / 100 if tolerance["relative"] else amount
        )
    year = re.fullmatch(r"[12]\d{3}", plain)
    return dataclasses.replace(found, is_year=bool(year))


def quantities_in(text: str, unit: str = "") -> Iterator[tuple[int, int, Quantity]]:
    """(start, end, what) of each in a text that is `folded`. `unit`: the reference's own, where no list has it."""
    for match in _NUMBER.finditer(text):
        found, end = _quantity(match), match.end()
        own = unit and unit not in _UNITS and not found.unit and re.match(rf"\s*{re.escape(unit)}(?!\w)", text[end:])
        if own:
            end += own.end()
            found = dataclasses.replace(found, unit=unit)
        yield match.start(), end, found


def folded(text: str) -> str:
    """Of one case and width, in which ² is 2; nothing else is lost."""
    plain = unicodedata.normalize("NFKC", text.replace("²", "2").replace("³", "3")).casefold()
    return re.sub(r"\bb\.?c\.?e\b\.?", "bc", plain)


def rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def _quantity(match: re.Match[str]) -> Quantity:
    text = match["value"]
    number, digits = (float(_spelled(text)), 15) if text[0].isalpha() else _figures(text)
    size = _SIZES.get(match["size"] or "", 1.0)
    negative = (match["sign"] or "").strip() in ("minus", "-", "−")
    return Quantity(-number * size if negative else number * size, match["unit"] or match["before"] or "", digits)


def _figures(text: str) -> tuple[float, int]:
    """The number, and how many of its digits are significant: zeros at the end of a whole number are not."""
    plain = re.sub(r"['’ \u00a0\u202f]", "", text)
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", plain):
        plain = plain.replace(",", "")
    elif re.fullmatch(r"\d{1,3}(?:\.\d{3}){2,}", plain):
        plain = plain.replace(".", "")
    plain = plain.replace(",", ".")
    digits = plain.partition("e")[0].lstrip("0.")
    significant = digits.replace(".", "") if "." in plain else digits.rstrip("0")
    return float(plain), max(len(significant), 1)


def _spelled(text: str) -> int:
    """twenty-one, one hundred ninety-one, nineteen hundred."""
    total = 0
    for word in re.findall(r"[a-z]+", text):
        if word == "hundred":
            total = max(total, 1) * 100
        elif word != "and":
            total += _WORDS[word]
    return total
