"""Values for the fields of a function, drawn from a seed: what a person could have typed there."""

from __future__ import annotations

import datetime
import random
import re

from tars_jax.data.website_synthesis.functions import Field

SUBJECTS = (
    "quarterly report", "garden shed", "night train", "coffee machine", "winter tyres", "reading group", "spare keys",
    "window cleaning", "harbour tour", "team offsite", "bicycle repair", "piano lessons", "water meter", "book fair",
    "meeting room", "solar panels", "recycling plan", "photo archive", "museum visit", "bread recipe", "fire drill",
    "guest list", "parking permit", "sound check", "seed catalogue", "lost umbrella", "first aid kit", "tax return",
)  # fmt: skip
KINDS = ("Notes:", "Plan:", "Question:", "Update:", "Checklist:", "Budget:", "My", "Our", "New", "Late")
SENTENCES = (
    "The {0} has moved.",
    "Check the {0} soon.",
    "No {0} so far.",
    "More help for the {0}.",
    "The {0} works again.",
    "Keep the {0} for later.",
    "Ask Marta: {0}.",
)  # short: each key is a real one, twice
FIRST = ("Alma", "Bruno", "Clara", "Dario", "Elif", "Felix", "Greta", "Hugo", "Ines", "Jonas", "Katja", "Leon", "Mira")
LAST = ("Arndt", "Becker", "Costa", "Dahl", "Egger", "Ferro", "Gomez", "Hansen", "Ivanov", "Jensen", "Keller", "Lund")
CITIES = ("Lisbon", "Turku", "Graz", "Bergen", "Aarhus", "Girona", "Lucca", "Tartu", "Ghent", "Zadar")
MEDIA_TYPES = ("text/plain", "text/html", "text/markdown", "text/css", "application/json")
QUERIES = ("SELECT 1", "SELECT 2 + 3", "SELECT 7 * 6", "SELECT 'open'")  # of any database
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "indigo", "juniper", "kelp", "lilac")

LONGEST_HINT = 40  # characters; who says more explains something else, too
_WANTED = {  # in the order in which they are looked for
    "number": r"integer|int|bigint|smallint|numbers?|numeric|real|float|double|decimal|digits?|amount",
    "moment": r"datetime|timestamp|yyyy-mm-dd hh:mm",
    "date": r"date|yyyy-mm-dd", "time": r"time|hh:mm", "yes or no": r"bool|boolean", "email": r"e-?mail",
    "url": r"url|uri|web address", "identifier": r"[a-z]+(_[a-z]+)+",
}  # fmt: skip
WANTED = {kind: re.compile(rf"\b({words})\b", re.IGNORECASE) for kind, words in _WANTED.items()}


def draw_value(field: Field, rng: random.Random) -> str:
    """Draws a value to be typed, chosen or switched; empty where nothing fits."""
    if field.kind == "select":
        return rng.choice(field.options) if field.options else ""
    if field.kind == "radio":
        return "on"
    if field.kind == "checkbox":
        return "off" if field.checked else "on"
    text = _text(field, rng)
    return text[: field.longest] if 0 < field.longest < len(text) else text


def _text(field: Field, rng: random.Random) -> str:
    said, kind = f"{field.label} {field.move.name}".lower(), kind_wanted(field.hint) or field.kind

    def names(words: str) -> bool:
        return re.search(rf"\b({words})s?\b", said) is not None

    first, last = rng.choice(FIRST), rng.choice(LAST)
    if kind == "email" or names("e-?mail"):
        return f"{first}.{last}@example.com".lower()
    if names("content type|mime type"):
        return rng.choice(MEDIA_TYPES)
    if names("sql|query"):
        return rng.choice(QUERIES)
    if kind == "url" or names("url|website|homepage|link"):
        return f"http://{rng.choice(WORDS)}.example.com/"
    if kind == "number" or names("amount|price|quantity|number of|how much|weight|count|sum|cost|total|bill"):
        return str(_number(field, rng))
    if names("phone|tel|mobile"):
        return f"+4930{rng.randint(100_000, 999_999)}"
    if kind == "yes or no":
        return str(rng.randint(0, 1))
    if kind == "moment":
        return _moment(rng)
    if names("year"):
        return str(rng.randint(2018, 2029))
    if kind == "date" or names("date|due|deadline|day"):
        return _day(rng)
    if kind == "time" or names("time"):
        return _time(rng)
    if names("zip|postcode|postal"):
        return str(rng.randint(10_000, 99_999))
    if names("city|town|location|place"):
        return rng.choice(CITIES)
    if names("street|address"):
        return f"{rng.choice(LAST)} Street {rng.randint(1, 90)}"
    if names("first name|given name"):
        return first
    if names("last name|surname|family name"):
        return last
    if names("user|owner|author|assign|contact|person|customer|participant|member|payer|who|sender"):
        return f"{first} {last}"
    if kind == "identifier" or names(
        "column|tag|keyword|label|slug|login|nick|version|component|milestone|branch|identifier|code|key"
    ):
        return f"{rng.choice(WORDS)}{rng.randint(10, 99)}"
    if kind in ("textarea", "editor") or names("comment|description|content|text|body|message|note|remark|summary of"):
        return rng.choice(SENTENCES).format(rng.choice(SUBJECTS))
    return f"{rng.choice(KINDS)} {rng.choice(SUBJECTS)}"


def kind_wanted(said: str) -> str:
    """The kind of value that a page's words about a field call for; empty: they call for none."""
    return next((kind for kind, pattern in WANTED.items() if pattern.search(said[:LONGEST_HINT])), "")


def _day(rng: random.Random) -> str:
    return (datetime.date(2026, 1, 1) + datetime.timedelta(days=rng.randrange(700))).isoformat()


def _time(rng: random.Random) -> str:
    return f"{rng.randint(7, 20):02d}:{rng.choice((0, 15, 30, 45)):02d}"


def _moment(rng: random.Random) -> str:
    return f"{_day(rng)} {_time(rng)}"


def _number(field: Field, rng: random.Random) -> int:
    low = int(float(field.low)) if re.fullmatch(r"-?\d+(\.\d*)?", field.low) else 2
    high = int(float(field.high)) if re.fullmatch(r"-?\d+(\.\d*)?", field.high) else max(low + 60, 80)
    value = rng.randint(low, max(low, high))
    return value + 1 if str(value) == field.value and value < high else value
