"""Redaction of a recording before it goes anywhere: parts of pictures, and texts that match patterns.

A text that was typed is read as its field would hold it, and once more with all that was typed and erased; whatever
matches becomes one block, in its place among the keys. A picture cannot be searched for it: from the first of its keys
on, the window that it went to is black in every picture.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from tars_jax.annotation.in_situ.events import FocusedWindow, KeyStroke, RecordedEvent, ScreenFrame, SourceGone
from tars_jax.annotation.in_situ.privacy import Box

BLOCK = "█"
_SECRET_WORDS = (
    r"pass(?:word|wd|phrase|code|wort)?|secret|token|api[_-]?key|secret[_-]?(?:access[_-]?)?key|kennwort|pin|tan|"
    r"mot de passe|contraseña|senha|пароль|密码|密碼|パスワード|비밀번호"
)
PATTERNS = (
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",  # mail addresses
    r"(?<!\d)(?:\d[ .-]?){12,18}\d(?!\d)",  # numbers of cards and accounts
    r"(?i:\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b)",  # IBAN
    r"\b(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abp]|AKIA|ASIA|hf|AIza|npm|pypi)[-\w]{12,}",  # keys of services
    r"\beyJ[\w-]+\.[\w-]+\.[\w-]+",  # JSON web tokens
    r"(?i:\bbearer\s+\S{6,})",
    rf"(?i:(?<![^\W_])(?:\w*_)?(?:{_SECRET_WORDS})[\"']?\s*[:=：]\s*\S[^\r\n]*)",  # the rest of the line
    rf"(?i:--?(?:{_SECRET_WORDS})[= ]\S+)",
    r"(?<![\d+])\+?(?:\(\d{1,5}\)|\d)(?:[ ()/.-]{0,2}\d){8,14}(?!\d)",  # telephone numbers
)
_SECRET_NAME = re.compile(rf"(?i).*(?:{_SECRET_WORDS}).*", re.DOTALL)
MOVES = ("Left", "Right", "Up", "Down", "Home", "End", "Prior", "Next")  # the caret, and so the text's end is elsewhere


EVERYTHING: Box = (0, 0, 1 << 30, 1 << 30)


@dataclasses.dataclass(frozen=True)
class BlackRectangle:
    """Black in every picture from `since` to `until`, seconds of the recording."""

    box: Box
    since: float = 0.0
    until: float = float("inf")


@dataclasses.dataclass(frozen=True)
class TypedMatch:
    """A typed text that matched: its keys' places among the events, and when it was begun."""

    keys: tuple[int, ...]
    time: float
    window: FocusedWindow | None  # that had the focus


@dataclasses.dataclass(frozen=True)
class Searched:
    """Patterns that are searched for one after the other."""

    patterns: tuple[re.Pattern[str], ...]

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return (match for pattern in self.patterns for match in pattern.finditer(text) if match[0])

    def without(self, text: str) -> str:
        """The text with a block for each match."""
        for pattern in self.patterns:
            text = pattern.sub(lambda match: BLOCK if match[0] else "", text)
        return text

    def without_in(self, tree: Any) -> Any:
        """A JSON value with a block for each match in its texts; what stands beside a name such as `password` is a
        block, too."""
        if isinstance(tree, str):
            return self.without(tree)
        if isinstance(tree, list):
            return [self.without_in(each) for each in tree]
        if isinstance(tree, dict):
            named = any(isinstance(each, str) and _SECRET_NAME.fullmatch(each) for each in tree.values())
            hidden = {name for name in tree if (named and name in _VALUES) or _SECRET_NAME.fullmatch(str(name))}
            return {
                name: BLOCK if name in hidden and isinstance(each, str) and each else self.without_in(each)
                for name, each in tree.items()
            }
        return tree


_VALUES = ("value", "text", "content")  # of a field in an accessibility tree


def patterns(more: str = "") -> Searched:
    """The patterns above and one more, where it is not empty. Raises re.error."""
    return Searched(tuple(map(re.compile, (*PATTERNS, *([more] if more else [])))))


def matches(events: Sequence[RecordedEvent], searched: Searched) -> list[TypedMatch]:
    """Matches in the typed text, no key in two of them."""
    found: list[TypedMatch] = []
    taken: set[int] = set()
    for erases in (True, False):
        for text, places, window in _texts(events, erases):
            for match in searched.finditer(text):
                keys = {place for group in places[match.start() : match.end()] for place in group} - taken
                if keys:
                    taken |= keys
                    found.append(TypedMatch(tuple(sorted(keys)), min(events[key].time for key in keys), window))
    return found


def without_texts(
    events: Sequence[RecordedEvent], found: Sequence[TypedMatch], searched: Searched
) -> list[RecordedEvent]:
    """Each match is one key that types a block; titles, names and messages are searched, too."""
    first = {min(each.keys) for each in found}
    gone = {key for each in found for key in each.keys}
    gone |= set(_ups(events, gone))
    kept: list[RecordedEvent] = []
    for place, event in enumerate(events):
        if place in first:
            kept.append(KeyStroke(time=event.time, key="U2588", down=True, text=BLOCK))
            kept.append(KeyStroke(time=event.time, key="U2588", down=False))
        elif place not in gone:
            match event:
                case FocusedWindow(application=application, title=title):
                    clean = {"application": searched.without(application), "title": searched.without(title)}
                    event = msgspec.structs.replace(event, **clean)
                case SourceGone(message=message):
                    event = msgspec.structs.replace(event, message=searched.without(message))
            kept.append(event)
    return kept


def covers(events: Sequence[RecordedEvent], found: Sequence[TypedMatch]) -> list[BlackRectangle]:
    """The places, from then on, of the windows that something that matched was typed into; everything, where the place
    is not known."""
    since: dict[str, float] = {}
    covered: list[BlackRectangle] = []
    for each in found:
        if each.window is None:
            covered.append(BlackRectangle(EVERYTHING, each.time))
        else:
            since[each.window.application] = min(each.time, since.get(each.window.application, each.time))
    places: dict[str, list[FocusedWindow]] = {}
    for event in events:
        if isinstance(event, FocusedWindow) and event.application in since:
            places.setdefault(event.application, []).append(event)
    for name, windows in places.items():
        for place, window in enumerate(windows):
            box = window.box if min(window.box[2:]) > 0 else EVERYTHING
            covered.append(BlackRectangle(box, max(since[name], window.time if place else 0.0)))
    return covered


def boxes_of(frame: ScreenFrame, rectangles: Sequence[BlackRectangle]) -> list[Box]:
    """Black boxes of a picture."""
    return [each.box for each in rectangles if each.since <= frame.time <= each.until]


@dataclasses.dataclass
class _Text:
    """Text of a field, as far as keys tell."""

    window: FocusedWindow | None
    characters: list[str] = dataclasses.field(default_factory=list)
    places: list[tuple[int, ...]] = dataclasses.field(default_factory=list)  # of each the events that made it


def _texts(
    events: Sequence[RecordedEvent], erases: bool
) -> Iterator[tuple[str, list[tuple[int, ...]], FocusedWindow | None]]:
    """(text, of each of its characters the events that made it, window), a field at a time as far as keys tell.

    Each application has a field, which another title and a look at another window leave as it is. `erases`: BackSpace
    takes the last character back; else it is nothing.
    """
    fields: dict[str, _Text] = {}
    window: FocusedWindow | None = None
    for place, event in enumerate(events):
        if isinstance(event, FocusedWindow):
            window = event
        elif isinstance(event, KeyStroke) and event.down:
            name = "" if window is None else window.application
            field = fields.setdefault(name, _Text(window))
            if event.key in (*MOVES, "Tab"):
                yield "".join(field.characters), field.places, field.window
                del fields[name]
            elif event.key == "BackSpace" and field.characters and erases:
                field.characters.pop()
                gone = field.places.pop()
                if field.places:  # what was typed and taken back goes with what is beside it
                    field.places[-1] = (*field.places[-1], *gone, place)
            elif event.text and event.text != "\t":
                field.characters.append(event.text)
                field.places.append((place,))
    for field in fields.values():
        yield "".join(field.characters), field.places, field.window


def _ups(events: Sequence[RecordedEvent], downs: set[int]) -> Iterator[int]:
    """The events in which the keys of these presses are let go."""
    held: set[str] = set()
    for place, event in enumerate(events):
        if not isinstance(event, KeyStroke):
            continue
        if event.down:
            held.discard(event.key)
            if place in downs:
                held.add(event.key)
        elif event.key in held:
            held.discard(event.key)
            yield place
