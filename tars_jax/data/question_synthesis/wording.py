"""How conditions and questions are said: by name of the fact, and for other facts in general words."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tars_jax.tasks.browsing.article import Fact, written

_RANGES = {  # with {} for "10 to 20 km"
    "population": "with {} inhabitants", "urban population": "where {} of the people live in cities",
    "internet users": "where {} of the people use the internet", "airports": "with {} airports",
    "railways": "with {} of railways", "irrigated land": "with {} of irrigated land", "forest": "that is {} forest",
    "agricultural land": "that is {} agricultural land", "birth rate": "with {}",
    "land boundaries": "with land borders of {} in all", "price": "that costs {}", "group": "in groups {}",
    "period": "in periods {}",
}  # fmt: skip
_DECADES = {
    "independent since": "that became independent in the {}s", "discovered in": "that was discovered in the {}s",
    "entry revised in": "whose entry was last revised in the {}s", "speaks of": "whose entry names a year of the {}s",
}  # fmt: skip
_CLASSES = {
    "continent": "in {}", "government": "whose form of government is “{}”", "currency": "whose currency is called {}",
    "grows": "that grows {}", "block": "of the {}", "series": "of the series “{}”", "status": "that is a {}",
    "field": "from the field “{}”", "begins with": "whose name begins with “{}”",
}  # fmt: skip
_ENTITIES = {
    "borders": "that borders {}", "capital": "whose capital is {}", "country": "that lies in {}",
    "found in": "that was first found in {}", "produced in": "that is produced in {}",
    "mentions": "whose entry mentions {}",
}  # fmt: skip
_NAMES = ("What is {} called?", "What is the name of {}?", "Please name {}.")
_QUESTIONS: dict[str, Sequence[str]] = {
    "population": ("How many people live in {}?", "What is the population of {}?"),
    "area": ("How large is {}, in square kilometers?", "What is the area of {}?"),
    "airports": ("How many airports does {} have?",),
    "coastline": ("How long is the coastline of {}?",),
    "land boundaries": ("How long are the land borders of {} in all?",),
    "railways": ("How many kilometers of railways does {} have?",),
    "urban population": ("What share of the people of {} live in cities?",),
    "internet users": ("What share of the people of {} use the internet?",),
    "forest": ("What share of {} is forest?",),
    "agricultural land": ("What share of {} is agricultural land?",),
    "physicians": ("How many physicians are there per 1,000 people in {}?",),
    "continent": ("On which continent does {} lie?",),
    "currency": ("What is the currency of {} called?", "With which currency do people pay in {}?"),
    "government": ("What form of government does {} have?",),
    "borders": ("Which country borders {}?",),
    "country": ("In which country does {} lie?",),
    "independent since": ("In which year did {} become independent?", "Since which year has {} been independent?"),
    "discovered in": ("In which year was {} discovered?",),
    "entry revised in": ("In which year was the entry of {} last revised?",),
    "field": ("To which field does {} belong?",),
    "block": ("To which block does {} belong?",),
    "series": ("To which series does {} belong?",),
    "found in": ("In which country was {} first found?",),
    "produced in": ("In which country is {} produced?",),
    "price": ("What does {} cost, per kilogram?",),
}


def range_words(name: str, low: float, high: float, unit: str) -> str:
    said = f"{written(low)} to {written(high)} {unit}".strip().replace(" %", "%").replace(" °", "°")
    known = _RANGES.get(name)
    if name == "physicians":
        return f"with {written(low)} to {written(high)} physicians {unit}"
    return known.format(said) if known else f"with {_article(name)} {name} of {said}"


def decade_words(name: str, decade: float) -> str:
    return _DECADES.get(name, f"{name} the {{}}s").format(f"{decade:.0f}")


def class_words(name: str, value: str) -> str:
    return _CLASSES.get(name, f"with {name}: {{}}").format(value)


def entity_words(name: str, kind: str, condition: str) -> str:
    return _ENTITIES.get(name, f"with {name}: {{}}").format(f"{_article(kind)} {kind} {condition}")


def described(kind: str, conditions: Sequence[str]) -> str:
    """One phrase: places first, then what the entity has, then what is so about it."""
    places = [each for each in conditions if each.startswith(("in ", "from ", "of "))]
    having = [each.removeprefix("with ") for each in conditions if each.startswith("with ")]
    others = [each for each in conditions if each not in places and not each.startswith("with ")]
    words = " ".join(["the", kind, *places, *(["with", join(having)] if having else [])])
    return f"{words}{',' if having and others else ''} {join(others)}".strip() if others else words


def join(parts: Sequence[str]) -> str:
    """a; a and b; a, b and c."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def name_question(phrase: str, rng: random.Random) -> str:
    return rng.choice(_NAMES).format(phrase)


def fact_question(fact: Fact, phrase: str, rng: random.Random) -> str:
    general = "In which year stands “{name}” for {{}}?" if fact.kind == "year" else "What is the {name} of {{}}?"
    return rng.choice(_QUESTIONS.get(fact.name, (general.format(name=fact.name),))).format(phrase)


def _article(noun: str) -> str:
    return "an" if noun[:1] in "aeiou" else "a"
