"""Wording of conditions and questions: by name of the fact, and for other facts in general words."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

from tars_jax.tasks.browsing.article import Fact, written

_RANGES = {  # with {} for "10 to 20 km"
    "population": "with {} inhabitants", "urban population": "where {} of the people live in cities",
    "internet users": "where {} of the people use the internet", "airports": "with {} airports",
    "railways": "with {} of railways", "irrigated land": "with {} of irrigated land", "forest": "that is {} forest",
    "agricultural land": "that is {} agricultural land", "birth rate": "with {}",
    "land boundaries": "with land borders of {} in all", "price": "that costs {}", "group": "whose group is {}",
    "period": "whose period is {}", "physicians": "with {} physicians per 1,000 people",
}  # fmt: skip
_DECADES = {
    "independent since": "that became independent in the {}s", "discovered in": "that was discovered in the {}s",
    "entry revised in": "whose entry was last revised in the {}s", "speaks of": "whose entry names a year of the {}s",
}  # fmt: skip
_CLASSES = {
    "continent": "in {}", "government": "whose form of government is “{}”", "currency": "whose currency is called {}",
    "farm products": "whose farm products include {}", "block": "of the {}", "series": "of the series “{}”",
    "status": "that is a {}", "field": "from the field “{}”", "begins with": "whose name begins with “{}”",
}  # fmt: skip
_ENTITIES = {
    "borders": "that borders {}", "capital": "whose capital is {}", "country": "that lies in {}",
    "found in": "that was first found in {}", "produced in": "that is produced in {}",
    "mentions": "whose entry mentions {}",
}  # fmt: skip
_STARTS = ("Consider {}.", "Think of {}.", "Take {}.")
_HOPS = {  # from the entity before to the one that is told next
    "borders": "{} borders {}.", "capital": "The capital of {} is {}.", "country": "{} lies in {}.",
    "found in": "{} was first found in {}.", "produced in": "{} is produced in {}.",
    "mentions": "The entry of {} mentions {}.", "cities": "Among the cities that the page of {} lists is {}.",
}  # fmt: skip
_FIRSTS = {
    "borders": "Of the countries that border {}, the one with the {} is {}.",
    "produced in": "Of the countries in which {} is produced, the one with the {} is {}.",
    "cities": "Of the cities that the page of {} lists, the {} is {}.",
}
_MOST = {  # of a number: the largest, the least
    "area": ("largest area", "smallest area"), "population": ("largest population", "smallest population"),
    "coastline": ("longest coastline", "shortest coastline"),
    "median age": ("highest median age", "lowest median age"),
    "latitude": ("one that lies furthest north", "one that lies furthest south"),
}  # fmt: skip
_NAMES = ("What is {} called?", "What is the name of {}?", "What is {}'s name?")
_QUESTIONS: dict[str, Sequence[str]] = {
    "population": ("How many people live in {}?", "What is the population of {}?"),
    "area": ("How large is {}?", "What is the area of {}?"),
    "airports": ("How many airports does {} have?",),
    "coastline": ("How long is the coastline of {}?",),
    "land boundaries": ("How long are the land borders of {} in all?",),
    "railways": ("How long are the railways of {} in all?",),
    "irrigated land": ("How much land is irrigated in {}?",),
    "urban population": ("What share of the people of {} live in cities?",),
    "internet users": ("What share of the people of {} use the internet?",),
    "forest": ("What share of {} is forest?",),
    "agricultural land": ("What share of {} is agricultural land?",),
    "physicians": ("How many physicians are there per 1,000 people in {}?",),
    "continent": ("On which continent does {} lie?",),
    "currency": ("What is the currency of {} called?", "With which currency do people pay in {}?"),
    "government": ("What form of government does {} have?",),
    "status": ("What status does {} have?",),
    "country": ("In which country does {} lie?",),
    "independent since": ("In which year did {} become independent?", "Since which year has {} been independent?"),
    "discovered in": ("In which year was {} discovered?",),
    "entry revised in": ("In which year was the entry of {} last revised?",),
    "field": ("To which field does {} belong?",),
    "block": ("To which block does {} belong?",),
    "series": ("To which series does {} belong?",),
    "found in": ("In which country was {} first found?",),
    "produced in": ("In which country is {} produced?",),
    "borders": ("Which country borders {}?",),
    "price": ("What does {} cost, per kilogram?",),
}
_LISTS = {
    "found in": "In which countries was {} first found?", "produced in": "In which countries is {} produced?",
    "borders": "Which countries border {}?", "field": "To which fields does {} belong?",
}  # fmt: skip
_FORMS = {  # of an answer, by the unit of its number or the name of its fact
    "%": "a number, in percent", "births per 1,000 people": "a number of births per 1,000 people",
    "per 1,000 people": "a number of physicians per 1,000 people", "dollars per kg": "a number, in dollars per kg",
    "latitude": "a number, in degrees, negative in the south",
    "longitude": "a number, in degrees, negative in the west", "population": "a number of inhabitants",
    "airports": "a number of airports", "found in": "the name of a country", "produced in": "the name of a country",
    "borders": "the name of a country", "country": "the name of a country", "capital": "the name of a city",
    "continent": "the name of a continent", "currency": "the name of a currency",
    "government": "the form of government, in the words of the page", "block": "the name of a block, such as x-block",
    "series": "the name of a series", "field": "the name of a field", "status": "the status, in the words of the page",
}  # fmt: skip
_COUNTED = ("population", "airports", "birth rate", "physicians")
_SIGNED = ("latitude", "longitude")  # of which 0 is no lower end
_SEVERAL = "whose farm products include "


def range_words(name: str, low: float, high: float, unit: str) -> str:
    if low == 0 and name not in _SIGNED:
        said = f"{'fewer' if name in _COUNTED else 'less'} than {written(high)}"
    else:
        said = f"{written(low)} to {written(high)}"
    if unit and name != "physicians":
        said = f"{said} {unit}".replace(" %", "%").replace(" °", "°")
    return _RANGES.get(name, f"with {_article(name)} {name} of {{}}").format(said)


def decade_words(name: str, decade: float) -> str:
    return _DECADES.get(name, f"with {name} in the {{}}s").format(f"{decade:.0f}")


def class_words(name: str, value: str) -> str:
    return _CLASSES.get(name, f"with {name}: {{}}").format(value)


def entity_words(name: str, kind: str, condition: str) -> str:
    return _ENTITIES.get(name, f"with {name}: {{}}").format(f"{_article(kind)} {kind} {condition}")


def describe_entity(kind: str, conditions: Sequence[str], label: str = "") -> str:
    """A phrase that describes an entity: places first, then what the entity has, what is so about it, and last what it
    has to do with another, as all that follows would be read as being about that one. `label` tells it from others of
    its kind."""
    places = [each for each in conditions if each.startswith(("in ", "from ", "of "))]
    having = [each.removeprefix("with ") for each in conditions if each.startswith("with ")]
    others = [each for each in conditions if each not in places and not each.startswith("with ")]
    if len(several := [each.removeprefix(_SEVERAL) for each in others if each.startswith(_SEVERAL)]) > 1:
        others = [*(each for each in others if not each.startswith(_SEVERAL)), _SEVERAL + join(several)]
    others.sort(key=_speaks_of_another)
    if sum(each.startswith("from ") for each in places) > 1:
        places = [join(places)]
    parts = [*places, *(["with " + join(having)] if having else []), *([join(others)] if others else [])]
    return " ".join([_article(kind), kind, *filter(None, [label]), *parts])


def join(parts: Sequence[str]) -> str:
    """a; a and b; a, b and c."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def question_words(
    kinds: Sequence[str], told: Sequence[Sequence[str]], hops: Sequence[tuple[str, str, bool]],
    others: Collection[str], asked: str, form: str, rng: random.Random,
) -> str:  # fmt: skip
    """A sentence for each entity, the question, in which `{}` stands for the last one, and the form of its answer.

    `told`: the words of each one's conditions; `hops`: relation, by which number, whether by the largest; `others`:
    kinds of entities that conditions speak of. Where a kind comes twice, letters tell which is meant.
    """
    labels = _labels(kinds, others)
    phrases = [describe_entity(*each) for each in zip(kinds, told, labels, strict=True)]
    names = [f"{kind} {label}" if label else f"that {kind}" for kind, label in zip(kinds, labels, strict=True)]
    sentences = [rng.choice(_STARTS).format(phrases[0])]
    for (relation, by, largest), before, after in zip(hops, names, phrases[1:], strict=False):
        if by:
            most = _MOST[by][0 if largest else 1]
            sentences.append(_FIRSTS[relation].format(before, most, after))
        else:
            sentences.append(_sentence(_HOPS[relation].format(before, after)))
    return " ".join((*sentences, _sentence(asked.format(names[-1])), form_sentence(form)))


def _labels(kinds: Sequence[str], others: Collection[str]) -> list[str]:
    letters = iter("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    return [next(letters) if kinds.count(kind) > 1 or kind in others else "" for kind in kinds]


def form_sentence(form: str) -> str:
    return f"Answer with {form}."


def name_question(kind: str, rng: random.Random) -> tuple[str, str]:
    """The question, and the form of its answer."""
    return rng.choice(_NAMES), f"the name of {_article(kind)} {kind}"


def fact_question(fact: Fact, several: bool, rng: random.Random) -> tuple[str, str]:
    """The question, and the form of its answer: with the unit of the number. `several`: there are further values."""
    if several:
        return _LISTS.get(fact.name, f"What are the values of “{fact.name}” of {{}}?"), "a list of names"
    general = f"What is the {'year' if fact.kind == 'year' else fact.name} of {{}}?"
    return rng.choice(_QUESTIONS.get(fact.name, (general,))), _form(fact)


def _form(fact: Fact) -> str:
    if fact.kind == "year":
        return "a year"
    if fact.kind == "number":
        unit = f"a number, in {fact.unit}" if fact.unit else "a number"
        return _FORMS.get(fact.name, _FORMS.get(fact.unit, unit))
    return _FORMS.get(fact.name, "one name")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _speaks_of_another(words: str) -> bool:
    return words.startswith(tuple(each.removesuffix("{}") for each in _ENTITIES.values()))


def _article(noun: str) -> str:
    return "an" if noun[:1] in "aeiou" else "a"
