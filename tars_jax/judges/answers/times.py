"""Times of day and spans of them, found in a text: 14:35, 2:35 pm, half past nine, 10:00-16:00."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

import number_parser

from tars_jax.judges.answers.quantity import Same

_TIME = re.compile(
    r"(?<![\w:.,])(?P<hour>[01]?\d|2[0-4])(?:[:.h](?P<minute>[0-5]\d)"
    r"\s?(?P<half>[ap]\.?m\b\.?|in the (?:morning|afternoon|evening)\b)?"
    r"|\s?(?P<alone>[ap]\.?m\b\.?))(?![\w:])",
    re.IGNORECASE,
)
_SPOKEN = re.compile(
    r"\b(?P<part>half|(?:a )?quarter) (?P<side>past|to) (?P<hour>[a-z]+|\d{1,2})\b"
    r"(?:\s?(?P<half>[ap]\.?m\b\.?|in the (?:morning|afternoon|evening)\b))?",
    re.IGNORECASE,
)
_ZONE = re.compile(r"\s?\(?(?P<zone>UTC|GMT|[A-Z]{1,3}T)\b(?![+-])\)?")
_TO = re.compile(r"\s*(?:-|to|until|till|through)\s*", re.IGNORECASE)
_TOLD = re.compile(r"\s*,? and (?:it )?(?:closes|ends|finishes)(?: at)?\s*", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class TimeOfDay:
    minutes: int  # since midnight
    is_whole: bool  # of 24 hours, or with its half of the day
    to: TimeOfDay | None = None
    zone: str = ""  # UTC, also for GMT; none is converted into another


def compare_times(said: TimeOfDay, wanted: TimeOfDay) -> Same:
    if (said.to is None) != (wanted.to is None):
        return Same.NO
    if said.to is not None and wanted.to is not None:
        ends = {
            compare_times(dataclasses.replace(said, to=None), dataclasses.replace(wanted, to=None)),
            compare_times(said.to, wanted.to),
        }
        return Same.NO if Same.NO in ends else Same.UNSURE if Same.UNSURE in ends else Same.YES
    if said.zone != wanted.zone and (said.zone or said.minutes == wanted.minutes):
        return Same.NO if said.zone and wanted.zone and said.minutes == wanted.minutes else Same.UNSURE
    if said.minutes == wanted.minutes:
        return Same.YES if said.is_whole or not wanted.is_whole or wanted.minutes < 12 * 60 else Same.UNSURE
    unsure = not (said.is_whole and wanted.is_whole) and (said.minutes - wanted.minutes) % (12 * 60) == 0
    return Same.UNSURE if unsure else Same.NO


def read_time(text: str) -> TimeOfDay | None:
    """Reads a whole reference as a time of day."""
    found = list(times_in(text.strip()))
    return found[0][2] if len(found) == 1 and found[0][:2] == (0, len(text.strip())) and ":" in text else None


def times_in(text: str, *, spans: bool = False) -> Iterator[tuple[int, int, TimeOfDay]]:
    """(start, end, which) of each time of day; two ends of a span are one, with `spans` also those that are
    told as "it opens at ... and closes at ..."."""
    waiting: tuple[int, int, TimeOfDay] | None = None
    for start, end, found in sorted(_single(text), key=lambda each: each[0]):
        if waiting is not None:
            between = text[waiting[1] : start]
            if waiting[2].to is None and (_TO.fullmatch(between) or (spans and _TOLD.fullmatch(between))):
                waiting = (waiting[0], end, dataclasses.replace(waiting[2], to=found))
                continue
            yield waiting
        waiting = (start, end, found)
    if waiting is not None:
        yield waiting


def _single(text: str) -> Iterator[tuple[int, int, TimeOfDay]]:
    for match in _TIME.finditer(text):
        half = match["half"] or match["alone"] or ""
        if half.casefold().startswith(("a", "in the m")) and int(match["hour"]) > 12:
            continue  # 14:05 a.m. is no time
        clock, end = _clock(int(match["hour"]), int(match["minute"] or 0), half), match.end()
        if zone := _ZONE.match(text, end):
            clock = dataclasses.replace(clock, zone=zone["zone"].replace("GMT", "UTC"))
        yield match.start(), zone.end() if zone else end, clock
    for match in _SPOKEN.finditer(text):
        hour = int(match["hour"]) if match["hour"].isdigit() else number_parser.parse_number(match["hour"].casefold())
        if isinstance(hour, int) and hour <= 12:
            part = 30 if match["part"].casefold() == "half" else 15
            minutes = 60 * hour + (part if match["side"].casefold() == "past" else -part)
            yield *match.span(), _clock(minutes // 60, minutes % 60, match["half"] or "")


def _clock(hour: int, minute: int, half: str) -> TimeOfDay:
    letter = {"in the m": "a", "in the a": "p", "in the e": "p"}.get(half.casefold()[:8], half.casefold()[:1])
    if letter and hour <= 12:
        hour = hour % 12 + 12 * (letter == "p")
    return TimeOfDay(60 * hour + minute, bool(letter) or hour > 12 or hour == 0)
