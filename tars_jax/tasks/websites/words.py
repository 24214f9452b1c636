"""Words that sites are filled with: people, things and sentences by chance, the same for the same seed."""

from __future__ import annotations

import random

PEOPLE = ("Anna Lindqvist", "Bram de Vries", "Chiara Conti", "Dmitri Orlov", "Elif Kaya", "Femi Adeyemi",
    "Greta Nyström", "Hiro Tanaka", "Ines Carvalho", "Jonas Weber", "Keira Walsh", "Liam O'Brien")  # fmt: skip
THINGS = ("printer", "scanner", "calendar", "door lock", "coffee machine", "projector", "badge reader", "backup job",
    "login page", "search box", "invoice export", "mail filter", "room display", "elevator panel", "time sheet",
    "photo archive", "parking gate", "news letter", "stock report", "floor plan")  # fmt: skip
TROUBLES = ("stops after an hour", "shows the wrong date", "prints blank pages", "forgets its settings",
    "is too slow on Mondays", "rejects valid names", "cannot be closed", "loses the last entry", "beeps all night",
    "needs a new password every day", "ignores the second user", "turns itself off")  # fmt: skip
TOPICS = ("Visitor Guide", "Opening Hours", "Release Plan", "Travel Rules", "Kitchen Rota", "Meeting Notes",
    "Garden Project", "Glossary", "Safety Drill", "Book Club", "Supplier List", "Onboarding")  # fmt: skip
SHOPS = ("Bakery Sun", "North Market", "Paper & Pen", "City Tram", "Blue Pharmacy", "Green Grocer", "Lake Cinema",
    "Station Kiosk", "Old Bookshop", "Harbor Cafe")  # fmt: skip
_SUBJECTS = ("The team", "Everybody", "The office", "Our guest", "The north wing", "The supplier", "The archive")
_VERBS = ("meets", "keeps", "checks", "moves", "counts", "orders", "repairs", "paints")
_OBJECTS = ("two boxes", "the old keys", "a spare lamp", "the green folder", "seven chairs", "the map", "new labels")
_WHEN = ("before noon", "on Fridays", "once a month", "after the meeting", "in the spring", "at the front desk")


def pick(rng: random.Random, words: tuple[str, ...], count: int) -> list[str]:
    """Picks different words."""
    return rng.sample(words, count)


def trouble(rng: random.Random, thing: str) -> str:
    return f"{thing.capitalize()} {rng.choice(TROUBLES)}"


def sentence(rng: random.Random) -> str:
    return f"{rng.choice(_SUBJECTS)} {rng.choice(_VERBS)} {rng.choice(_OBJECTS)} {rng.choice(_WHEN)}."


def paragraph(rng: random.Random, sentences: int = 3) -> str:
    return " ".join(sentence(rng) for _ in range(sentences))


def login_of(person: str) -> str:
    """A user's short name, such as anna."""
    return person.split()[0].lower()
