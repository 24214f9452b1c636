"""Days as people write them, found in a text: 14 July 1789, July 14th, 1789, 1789-07-14, 14.07.1789, 14. Juli 1789.

Of 4/7/1789 nobody knows which number is the month: it is no date.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Iterator

_MONTHS = {
    name: number
    for names in (
        "january february march april may june july august september october november december",
        "jan feb mar apr may jun jul aug sep oct nov dec",
        "januar februar marz april mai juni juli august september oktober november dezember",
        "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro",
        "januari februari maart april mei juni juli augustus september oktober november december",
    )
    for number, name in enumerate(names.split(), 1)
} | {"sept": 9}
_ORDINALS = (  # in their order
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third twenty-fourth "
    "twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first"
)
_DAYS = {word: number for number, word in enumerate(_ORDINALS.split(), 1)}
_WEEKDAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,? )?"
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY = rf"(?:\d{{1,2}}(?:st|nd|rd|th|er|\.)?|{'|'.join(sorted(_DAYS, key=len, reverse=True))})"
_YEAR = r"[12]\d{3}"
_FORMS = (
    re.compile(rf"\b(?P<year>{_YEAR})[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}})\b(?![-/.]?\d)"),
    re.compile(rf"\b(?P<first>\d{{1,2}})[-/.](?P<second>\d{{1,2}})[-/.](?P<year>{_YEAR})\b(?![-/.]?\d)"),
    re.compile(
        rf"\b{_WEEKDAY}(?P<day>{_DAY}) (?:of |de |d['’])?(?P<month>{_MONTH})\b\.?,?(?: of| de)? (?P<year>{_YEAR})\b"
    ),
    re.compile(rf"\b{_WEEKDAY}(?P<month>{_MONTH})\b\.? (?:the )?(?P<day>{_DAY}),? (?P<year>{_YEAR})\b"),
    re.compile(rf"\b(?P<year>{_YEAR})[ ,]+(?P<month>{_MONTH})\b\.? (?P<day>{_DAY})\b"),
)


def read_date(text: str) -> datetime.date | None:
    """The day that a text is, whole."""
    plain = without_accents(text).strip().rstrip(".")
    found = list(dates_in(plain))
    return found[0][2] if len(found) == 1 and found[0][:2] == (0, len(plain)) else None


def dates_in(text: str) -> Iterator[tuple[int, int, datetime.date]]:
    """(start, end, which) of each in a text that is `without_accents`."""
    done = 0
    found = [match for form in _FORMS for match in form.finditer(text)]
    for match in sorted(found, key=lambda match: (match.start(), -match.end())):
        if match.start() >= done and (day := _date(match)):
            done = match.end()
            yield match.start(), match.end(), day


def without_accents(text: str) -> str:
    """In small letters, each accent gone."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(each for each in plain if not unicodedata.combining(each))


def _date(match: re.Match[str]) -> datetime.date | None:
    found = match.groupdict()
    if "first" in found:
        first, second = int(found["first"]), int(found["second"])
        dotted = "." in match[0]
        if not dotted and first <= 12 and second <= 12 and first != second:
            return None
        day, month = (first, second) if dotted or second <= 12 else (second, first)
    else:
        month = _MONTHS.get(found["month"]) or int(found["month"])
        day = _DAYS.get(found["day"]) or int(re.sub(r"\D", "", found["day"]))
    try:
        return datetime.date(int(found["year"]), month, day)
    except ValueError:
        return None
