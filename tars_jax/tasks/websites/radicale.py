"""Radicale: calendars and address books as files. Its user anna is logged in by the program that serves it."""

from __future__ import annotations

import json
import random

from tars_jax.tasks.websites import words
from tars_jax.tasks.websites.site import Content, Files, Row, Untold, Website

_COLORS = ("#cc3333", "#33aa55", "#3355cc", "#ddaa22", "#8844aa", "#22aaaa")
_KINDS = {"VCALENDAR": "calendar", "VADDRESSBOOK": "addressbook"}

_TOLD = (
    "tag", "D:displayname", "C:supported-calendar-component-set", "C:calendar-description",
    "CR:addressbook-description", "ICAL:calendar-color", "{http://inf-it.com/ns/ab/}addressbook-color",
)  # fmt: skip
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
    if held.get("tag") not in _KINDS:
        return []
    description = held.get("C:calendar-description") or held.get("CR:addressbook-description") or ""
    color = held.get("ICAL:calendar-color") or held.get("{http://inf-it.com/ns/ab/}addressbook-color") or ""
    title = held.get("D:displayname", "")
    holds = ",".join(sorted(held.get("C:supported-calendar-component-set", "").split(",")))
    row = {"title": title, "kind": _KINDS[held["tag"]], "holds": holds, "description": description}
    return [{**row, "color": color[:7].lower()}]


def _properties(path: str, text: str) -> list[Row]:
    """Those that a collection has besides: at first none has any."""
    held = json.loads(text)
    title = str(held.get("D:displayname", ""))
    return [{"title": title, "name": name, "value": str(held[name])} for name in sorted(set(held) - set(_TOLD))]


def _lines(text: str) -> dict[str, str]:
    """The first value of each property of an entry; a line that begins with a space goes on."""
    found: dict[str, str] = {}
    for line in text.replace("\r\n", "\n").replace("\n ", "").split("\n"):
        name, _, value = line.partition(":")
        found.setdefault(name.partition(";")[0].upper(), value)
    return found


def _event(path: str, text: str) -> list[Row]:
    held = _lines(text)
    told = {"summary": held.get("SUMMARY", ""), "start": held.get("DTSTART", ""), "location": held.get("LOCATION", "")}
    return [{**told, "text": text}]


def _contact(path: str, text: str) -> list[Row]:
    held = _lines(text)
    return [{"name": held.get("FN", ""), "email": held.get("EMAIL", ""), "text": text}]


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
        "collections": Files("collections/collection-root/anna/*/.Radicale.props", _collection),
        "properties": Files("collections/collection-root/anna/*/.Radicale.props", _properties),
        "events": Files("collections/collection-root/anna/*/*.ics", _event),
        "untold": Untold(files=_FILES),
        "contacts": Files("collections/collection-root/anna/*/*.vcf", _contact),
    },
    transient=("*.Radicale.cache", "*.Radicale.lock", "collections/collection-cache"),
)
