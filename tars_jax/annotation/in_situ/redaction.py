"""What is taken out of a recording before it goes anywhere: parts of pictures, and texts that match patterns.

A text that was typed is read as its field would hold it, and once more with all that was typed and erased; whatever
matches becomes one block, in its place among the keys. A picture cannot be searched for it: from the first of its keys
on, the window that it went to is black in every picture.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence

import msgspec

from tars_jax.annotation.in_situ.events import Event, Frame, Key, Window
from tars_jax.annotation.in_situ.windows import Box

BLOCK = "█"
PATTERNS = (
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",  # mail addresses
    r"(?<!\d)(?:\d[ -]?){12,18}\d(?!\d)",  # numbers of cards and accounts
    r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b",  # IBAN
    r"\b(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abp]|AKIA|ASIA|hf|AIza)[-_A-Za-z0-9]{12,}",  # keys of services
    r"\beyJ[\w-]+\.[\w-]+\.[\w-]+",  # JSON web tokens
    r"(?i:pass(?:word|wd|phrase)|secret|token|api[_-]?key)\s*[:=]\s*\S+",
    r"(?<!\d)\+?\d(?:[ ()/-]?\d){8,14}(?!\d)",  # telephone numbers
)
MOVES = ("Left", "Right", "Up", "Down", "Home", "End", "Prior", "Next")  # the caret, and so the text's end is elsewhere


@dataclasses.dataclass(frozen=True)
class Rectangle:
    """Black in every picture from `since` to `until`, seconds of the recording."""

    box: Box
    since: float = 0.0
    until: float = float("inf")


@dataclasses.dataclass(frozen=True)
class Found:
    """A typed text that matched: its keys' places among the events, and when it was begun."""

    keys: tuple[int, ...]
    time: float
    window: Window | None  # that had the focus


def patterns(more: Sequence[str] = ()) -> re.Pattern[str]:
    """Those above and more. Raises re.error."""
    return re.compile("|".join(f"(?:{each})" for each in (*PATTERNS, *more)))


def matches(events: Sequence[Event], searched: re.Pattern[str]) -> list[Found]:
    """What of the typed text matches, no key in two of them."""
    found: list[Found] = []
    taken: set[int] = set()
    for erases in (True, False):
        for text, places, window in _texts(events, erases):
            for match in searched.finditer(text):
                keys = {place for group in places[match.start() : match.end()] for place in group} - taken
                if keys:
                    taken |= keys
                    found.append(Found(tuple(sorted(keys)), min(events[key].time for key in keys), window))
    return found


def without_texts(events: Sequence[Event], found: Sequence[Found], searched: re.Pattern[str]) -> list[Event]:
    """Each match is one key that types a block; titles are searched, too."""
    first = {min(each.keys) for each in found}
    gone = {key for each in found for key in each.keys}
    gone |= set(_ups(events, gone))
    kept: list[Event] = []
    for place, event in enumerate(events):
        if place in first:
            kept.append(Key(time=event.time, key="U2588", down=True, text=BLOCK))
            kept.append(Key(time=event.time, key="U2588", down=False))
        elif place not in gone:
            if isinstance(event, Window):
                event = msgspec.structs.replace(event, title=searched.sub(BLOCK, event.title))
            kept.append(event)
    return kept


def covers(events: Sequence[Event], found: Sequence[Found]) -> list[Rectangle]:
    """The places, from then on, of the windows that something that matched was typed into."""
    since: dict[str, float] = {}
    for each in found:
        if each.window is not None:
            since[each.window.application] = min(each.time, since.get(each.window.application, each.time))
    places: dict[str, list[Window]] = {}
    for event in events:
        if isinstance(event, Window) and event.application in since:
            places.setdefault(event.application, []).append(event)
    return [
        Rectangle(window.box, max(since[name], window.time if place else 0.0))
        for name, windows in places.items()
        for place, window in enumerate(windows)
    ]


def boxes_of(frame: Frame, rectangles: Sequence[Rectangle]) -> list[Box]:
    """What is black in a picture."""
    return [each.box for each in rectangles if each.since <= frame.time <= each.until]


def _texts(events: Sequence[Event], erases: bool) -> Iterator[tuple[str, list[tuple[int, ...]], Window | None]]:
    """(text, of each of its characters the events that made it, window), a field at a time as far as keys tell.

    `erases`: BackSpace takes the last character back; else it is nothing.
    """
    text: list[str] = []
    places: list[tuple[int, ...]] = []
    window: Window | None = None
    for place, event in enumerate(events):
        ends = isinstance(event, Window) or (isinstance(event, Key) and event.down and event.key in (*MOVES, "Tab"))
        if ends and text:
            yield "".join(text), places, window
            text, places = [], []
        if isinstance(event, Window):
            window = event
        elif isinstance(event, Key) and event.down:
            if event.key == "BackSpace" and text and erases:
                gone = places.pop()
                text.pop()
                if places:  # what was typed and taken back goes with what is beside it
                    places[-1] = (*places[-1], *gone, place)
            elif event.text and event.text != "\t":
                text.append(event.text)
                places.append((place,))
    if text:
        yield "".join(text), places, window


def _ups(events: Sequence[Event], downs: set[int]) -> Iterator[int]:
    """The events in which the keys of these presses are let go."""
    held: set[str] = set()
    for place, event in enumerate(events):
        if not isinstance(event, Key):
            continue
        if event.down:
            held.discard(event.key)
            if place in downs:
                held.add(event.key)
        elif event.key in held:
            held.discard(event.key)
            yield place
