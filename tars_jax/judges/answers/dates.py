"""Days, months, years and spans of them as people write them, found in a text; and when two of them are the same.

    14 July 1789   July 14th, 1789   1789-07-14   14.07.1789   14. Juli 1789   July 1789   44 BC   1920s   1914-1918

Names of months and weekdays are CLDR's, in the languages of `LANGUAGES`, by Babel. Of 4/7/1789 nobody knows which
number is the month: such a day is unsure.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import re
from collections.abc import Iterator

import number_parser
from babel.dates import get_day_names, get_month_names

from tars_jax.judges.answers.quantity import Same
from tars_jax.judges.answers.words import LANGUAGES, folded, roman_as_figures

_ORDINAL = r"\d{1,2}(?:st|nd|rd|th|er|[.º])?|(?:twenty|thirty)[ -][a-z]+|[a-z]{3,9}(?:st|nd|rd|th)"
_YEAR = r"[12]\d{3}"
_ERA = re.compile(
    r"\s?(?P<bc>b\.?\s?c\.?(?:\s?e\.?)?|before christ)(?!\w)|\s?(?:a\.?d\.?|c\.?e\.?)(?!\w)", re.IGNORECASE
)
_TO = re.compile(r"\s*(?:-|to|and|through|until|till)\s*", re.IGNORECASE)
_TOLD = re.compile(  # "it began in 1756 and ended in 1763", where a span is asked for
    r"\s*,? and (?:it |he |she |they )?(?:ended|ends|left|closed|closes|finished|finishes|died|lasted (?:to|until))"
    r"(?: in| on| at)?\s*",
    re.IGNORECASE,
)
_TENS = ("twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties")


@dataclasses.dataclass(frozen=True)
class When:
    """A day, a month, a year, a decade or a century; or a span from one to another."""

    year: int | None = None  # below 0: before Christ; of a decade or century its first
    month: int | None = None
    day: int | None = None
    years: int = 1  # 10: a decade, of a year below 100: of any century; 100: a century
    other: tuple[int, int] | None = None  # (month, day) by the other order of the numbers
    to: When | None = None
    is_bare: bool = False  # four digits alone, which may be any number

    @property
    def parts(self) -> tuple[int | None, int | None, int | None]:
        return self.year, self.month, self.day


def compare_dates(said: When, wanted: When) -> Same:
    """Less exact than the reference is another answer; more exact is the same."""
    if (said.to is None) != (wanted.to is None):
        return Same.NO
    if said.to is not None and wanted.to is not None:
        ends = {
            compare_dates(dataclasses.replace(said, to=None), dataclasses.replace(wanted, to=None)),
            compare_dates(said.to, wanted.to),
        }
        return ends.pop() if len(ends) == 1 else Same.NO
    if said.years != wanted.years:
        return Same.NO
    if said.years == 10 and said.year is not None and 0 < said.year < 100 and wanted.year is not None:
        if wanted.year % 100 != said.year:
            return Same.NO
        return Same.YES if wanted.year // 100 == 19 else Same.UNSURE
    if said.other is not None:
        other = dataclasses.replace(said, month=said.other[0], day=said.other[1], other=None)
        both = {compare_dates(other, wanted), compare_dates(dataclasses.replace(said, other=None), wanted)}
        return both.pop() if len(both) == 1 else Same.UNSURE
    for own, asked in zip(said.parts, wanted.parts, strict=True):
        if asked is not None and own != asked:
            return Same.NO
    return Same.YES


def read_date(text: str) -> When | None:
    """Reads a whole reference as a date."""
    plain = text.strip().rstrip(".")
    found = list(dates_in(plain))
    return found[0][2] if len(found) == 1 and found[0][:2] == (0, len(plain)) else None


def dates_in(text: str, *, spans: bool = False) -> Iterator[tuple[int, int, When]]:
    """`spans`: a span may be told by how it began and ended.

    (start, end, which) of each in a text that is `words.plain`; two ends of a span are one."""
    waiting: tuple[int, int, When] | None = None
    for start, end, found in _single(text):
        if waiting is not None:
            between = text[waiting[1] : start]
            told = spans and _TOLD.fullmatch(between)
            is_span = _TO.fullmatch(between) and (
                between.strip().lower() != "and" or re.search(r"\bbetween\s*$", text[: waiting[0]], re.IGNORECASE)
            )
            first = waiting[2]
            if (told or is_span) and first.to is None and (first.month is None) == (found.month is None):
                if first.year is None:
                    first = dataclasses.replace(first, year=found.year)
                waiting = (waiting[0], end, dataclasses.replace(first, to=found))
                continue
            yield waiting
        waiting = (start, end, found)
    if waiting is not None:
        yield waiting


def _single(text: str) -> Iterator[tuple[int, int, When]]:
    done = 0
    found = [match for form in _forms() for match in form.finditer(text)]
    for match in sorted(found, key=lambda match: (match.start(), -match.end())):
        if match.start() >= done and (when := _when(match)):
            start, end = match.span()
            if when.year is not None and when.years != 10 and when.to is None and (era := _ERA.match(text, end)):
                end = era.end()
                before = -when.year - (when.years if when.years > 1 else 0)
                when = dataclasses.replace(when, year=before if era["bc"] else when.year, is_bare=False)
            done = end
            yield start, end, when
    for match in re.finditer(
        r"(?<![\w.,])(?:(?P<ad>AD\s?)(?P<after>\d{1,4})|(?P<year>\d{1,3})"
        r"(?=\s?(?:B\.?C|A\.?D|CE\b|BCE\b|before Christ)))(?![\d.,]?\d)",
        text,
    ):
        if match.start() >= done or not found:
            end = match.end()
            year = int(match["after"] or match["year"])
            era = _ERA.match(text, end)
            yield match.start(), era.end() if era else end, When(-year if era and era["bc"] else year)


@functools.cache
def _months() -> dict[str, int]:
    return {
        folded(name).rstrip("."): number
        for language in LANGUAGES
        for width in ("wide", "abbreviated")
        for context in ("format", "stand-alone")
        for number, name in get_month_names(width, context, language).items()
        if len(name) > 2 and not name[0].isdigit()
    } | {"sept": 9}


@functools.cache
def _weekdays() -> dict[str, int]:
    """Numbers of weekdays' names, Monday being 0."""
    return {
        folded(name).rstrip("."): number
        for language in LANGUAGES
        for width in ("wide", "abbreviated")
        for number, name in get_day_names(width, locale=language).items()
        if len(name) > 2
    }


def weekday_of(text: str, start: int, end: int) -> tuple[int, int, int | None]:
    """(start, end, weekday) of a day with the weekday that is told before it or in brackets after it."""
    before = re.search(r"(?:\b(?P<day>[^\W\d_]+)\.?,? )(?:the )?$", text[:start])
    if before and (found := _weekdays().get(folded(before["day"]))) is not None:
        return before.start(), end, found
    after = re.match(r",? \(?(?:an? )?(?P<day>[^\W\d_]+)\)?", text[end:])
    if after and (found := _weekdays().get(folded(after["day"]))) is not None:
        return start, end + after.end(), found
    return start, end, None


@functools.cache
def _forms() -> tuple[re.Pattern[str], ...]:
    month = "|".join(sorted(map(re.escape, _names()), key=len, reverse=True))
    of = r"(?:of |de |d')?"
    to = r"(?:-|to|through|until|till)"
    forms = (
        rf"\b(?P<year>{_YEAR})[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}})\b(?![-/.]?\d)",
        rf"(?<![\d/.-])(?P<first>\d{{1,2}})[-/.](?P<second>\d{{1,2}})[-/.](?P<year>{_YEAR})\b(?![-/.]?\d)",
        rf"\b(?P<day>{_ORDINAL})\s?{to}\s?(?P<last>{_ORDINAL}) {of}(?P<month>{month})\b\.?,?(?: (?P<year>{_YEAR})\b)?",
        rf"\b(?P<month>{month})\b\.? (?:the )?(?P<day>{_ORDINAL})\s?{to}\s?(?P<last>{_ORDINAL})\b(?!\.?\d)"
        rf"(?:,? (?P<year>{_YEAR})\b)?",
        rf"\b(?P<day>{_ORDINAL})[ -]{of}(?P<month>{month})\b\.?,?(?: of| de| del| in)?[ -](?P<year>{_YEAR})\b",
        rf"\b(?P<month>{month})\b\.? (?:the )?(?P<day>{_ORDINAL}),?(?: of| in)? (?P<year>{_YEAR})\b",
        rf"\b(?P<year>{_YEAR})[ ,]+(?P<month>{month})\b\.? (?P<day>{_ORDINAL})\b",
        rf"(?<![\d/.-])(?P<month>0?[1-9]|1[0-2])/(?P<year>{_YEAR})\b(?!/)",
        rf"(?<![\w.,-])(?P<year>{_YEAR})-(?P<month>0[1-9])(?![\w-])",
        rf"(?<![\w.,-])(?P<year>{_YEAR})-(?P<short>1[3-9]|[2-9]\d)(?![\w-])",
        rf"(?P<year>{_YEAR})年(?:(?P<month>\d{{1,2}})月(?:(?P<day>\d{{1,2}})日)?)?",
        rf"\b(?P<month>{month})\b\.?,?(?: of| de| del)? (?P<year>{_YEAR})\b",
        rf"\b(?P<day>{_ORDINAL}) {of}(?P<month>{month})\b",
        rf"\b(?P<month>{month})\b\.? (?:the )?(?P<day>{_ORDINAL})\b(?! ?%|[.,]?\d)",
        r"\b(?:the )?(?P<decade>[12]\d{2}0)'?s\b",
        rf"\b(?:the )?(?:'(?P<tens>[2-9]0)s|(?P<named_tens>{'|'.join(_TENS)}))\b",
        r"\b(?:the )?(?P<century>\d{1,2}(?:st|nd|rd|th)?|[a-z]+(?:st|nd|rd|th)|[ivx]+) (?:century\b|cent\.|c\.)",
        rf"(?<![\w.,])(?<!\s-)(?<!^-)(?P<year>{_YEAR})(?![\w]|[.,:]\d)",
    )
    return tuple(re.compile(form, re.IGNORECASE) for form in forms)


@functools.cache
def _names() -> frozenset[str]:
    """Names of months, with and without accents."""
    written = (
        name.rstrip(".")
        for language in LANGUAGES
        for width in ("wide", "abbreviated")
        for context in ("format", "stand-alone")
        for name in get_month_names(width, context, language).values()
    )
    return frozenset(_months()) | {name for name in written if len(name) > 2 and not name[0].isdigit()}


def _when(match: re.Match[str]) -> When | None:
    found = match.groupdict()
    if decade := found.get("decade"):
        return When(int(decade), years=10)
    if tens := found.get("tens") or found.get("named_tens"):
        return When(int(tens) if tens.isdigit() else 20 + 10 * _TENS.index(tens.casefold()), years=10)
    if century := found.get("century"):
        number = _number(century)
        return When(100 * (number - 1), years=100) if number else None
    year = int(found["year"]) if found.get("year") else None
    if year and (short := found.get("short")):
        return When(year, to=When(year // 100 * 100 + int(short))) if int(short) > year % 100 else None
    other = None
    month: int | None
    day: int | None
    if "first" in found:
        first, second = int(found["first"]), int(found["second"])
        day, month = (first, second) if "." in match[0] or second <= 12 else (second, first)
        if "." not in match[0] and first <= 12 and second <= 12 and first != second:
            other = first, second
    else:
        named = found.get("month")
        month = (int(named) if named.isdigit() else _months().get(folded(named).rstrip("."), 0)) if named else None
        day = _number(found["day"]) if found.get("day") else None
        if (named and not month) or (found.get("day") and not day):
            return None
    try:
        datetime.date(year or 2000, month or 1, day or 1)
    except ValueError:
        return None
    last = _number(found["last"]) if found.get("last") else None
    if last and day and last > day:
        return When(year, month, day, to=When(year, month, last))
    return When(year, month, day, other=other, is_bare=month is None)


def _number(text: str) -> int:
    text = roman_as_figures(text.upper()) if re.fullmatch(r"[ivx]+", text, re.IGNORECASE) else text
    digits = re.match(r"\d+", text)
    return int(digits[0]) if digits else int(number_parser.parse_ordinal(text.casefold()) or 0)
