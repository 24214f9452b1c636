"""Radicale: calendars and address books as files. Its user anna is logged in by the program that serves it."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence

from tars_jax.tasks.websites import words
from tars_jax.tasks.websites.site import Content, FilesReader, Row, Untold, Website

_COLORS = ("#cc3333", "#33aa55", "#3355cc", "#ddaa22", "#8844aa", "#22aaaa")
_KINDS = {"VCALENDAR": "calendar", "VADDRESSBOOK": "addressbook"}
_BOOK_COLOR = "{http://inf-it.com/ns/ab/}addressbook-color"
_TEXTS = {  # of each kind, where its description and its color are
    "VCALENDAR": ("C:calendar-description", "ICAL:calendar-color"),
    "VADDRESSBOOK": ("CR:addressbook-description", _BOOK_COLOR),
}
_TOLD = ("tag", "D:displayname", "C:supported-calendar-component-set")
_OPAQUE = re.compile("#[0-9a-f]{6}ff")
_FILES = ("*/anna/*/.Radicale.props", "*/anna/*/*.ics", "*/anna/*/*.vcf")  # by readers


def _content(rng: random.Random) -> Content:
    people = [person for person in words.PEOPLE if words.login_of(person) != "anna"]
    colors = words.pick(rng, _COLORS, 5)
    return {
        "calendars": [
            {
                "title": title,
                "description": words.sentence(rng),
                "color": colors.pop(),
                "events": [
                    {
                        "summary": f"{rng.choice(('Call', 'Lunch', 'Review', 'Visit'))} with {person}",
                        "day": f"2025{rng.randint(1, 12):02}{rng.randint(1, 28):02}",
                        "hour": rng.randint(8, 17),
                        "location": rng.choice(words.SHOPS),
                    }
                    for person in words.pick(rng, tuple(people), rng.randint(2, 5))
                ],
            }
            for title in words.pick(rng, words.TOPICS, 3)
        ],
        "books": [
            {
                "title": title,
                "description": words.sentence(rng),
                "color": colors.pop(),
                "contacts": words.pick(rng, tuple(people), rng.randint(2, 6)),
            }
            for title in words.pick(rng, ("Suppliers", "Neighbors", "Choir", "Old friends"), 2)
        ],
    }


def _collection(path: str, text: str) -> list[Row]:
    held = json.loads(text)
    tag = held.get("tag", "")
    description, color = (str(held.get(name, "")) for name in _TEXTS.get(tag, ("", "")))
    color = color.lower()
    holds = ",".join(sorted(held.get("C:supported-calendar-component-set", "").split(",")))
    row = {"title": held.get("D:displayname", ""), "kind": _KINDS.get(tag, tag), "holds": holds}
    return [{**row, "description": description, "color": color[:7] if _OPAQUE.fullmatch(color) else color}]


def _properties(path: str, text: str) -> list[Row]:
    """Those that a collection has besides, such as the description of another kind: at first none has any."""
    held = json.loads(text)
    besides = sorted(set(held) - {*_TOLD, *_TEXTS.get(held.get("tag", ""), ())})
    return [{"collection": _folder(path), "name": name, "value": str(held[name])} for name in besides]


def _folder(path: str) -> str:
    """The name of a collection in addresses, which it keeps with another title."""
    return path.split("/")[-2]


def _entry(path: str, text: str) -> tuple[dict[str, str], Row]:
    """The first value of each property of an entry, and the row of all: where it is, and what it says in one order.

    The program writes the properties of an entry that is given back to it in another order than they came in.
    """
    lines = text.replace("\r\n", "\n").replace("\n ", "").replace("\n\t", "").strip("\n").split("\n")
    held: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        held.setdefault(name.partition(";")[0].upper(), value)
    return held, {"collection": _folder(path), "text": "\n".join(_ordered(lines))}


def _ordered(lines: Sequence[str]) -> list[str]:
    """The properties of each component sorted, and after them its inner components, sorted, too."""
    stack: list[tuple[list[str], list[list[str]]]] = [([], [])]
    for line in lines:
        if line.upper().startswith("BEGIN:"):
            stack.append(([], []))
        stack[-1][0].append(line)
        if line.upper().startswith("END:") and len(stack) > 1:
            (begin, *properties, end), inner = stack.pop()
            stack[-1][1].append([begin, *_flat(properties, inner), end])
    return [line for properties, inner in stack for line in _flat(properties, inner)]


def _flat(properties: list[str], inner: list[list[str]]) -> list[str]:
    return [*sorted(properties), *(line for component in sorted(inner) for line in component)]


def _event(path: str, text: str) -> list[Row]:
    held, row = _entry(path, text)
    told = {"summary": held.get("SUMMARY", ""), "start": held.get("DTSTART", ""), "location": held.get("LOCATION", "")}
    return [{**told, **row}]


def _contact(path: str, text: str) -> list[Row]:
    held, row = _entry(path, text)
    return [{"name": held.get("FN", ""), "email": held.get("EMAIL", ""), **row}]


SITE = Website(
    "radicale",
    version="3.9.0",
    license="GPL-3.0-or-later",
    package="pypi:radicale",
    title="Radicale",
    port=8008,
    prepare=("{python}", "{programs}/radicale_prepare.py"),
    serve=("{python}", "{programs}/wsgi_serve.py", "{port}", "{programs}/radicale_application.py"),
    content=_content,
    environment={"RADICALE_CONFIG": "{state}/config"},
    first_page="/.web/",
    health="/.web/",
    readers={
        "collections": FilesReader("collections/collection-root/anna/*/.Radicale.props", _collection),
        "properties": FilesReader("collections/collection-root/anna/*/.Radicale.props", _properties),
        "events": FilesReader("collections/collection-root/anna/*/*.ics", _event),
        "untold": Untold(files=_FILES),
        "contacts": FilesReader("collections/collection-root/anna/*/*.vcf", _contact),
    },
    transient=("*.Radicale.cache", "*.Radicale.lock", "collections/collection-cache"),
)
