"""Numbers that are told otherwise than with a sign, figures and a unit, told so, as a reference calls for it.

12.88 births per 1,000 people   ->  12.88‰ births people
58.59 degrees west              ->  -58.59°
three out of four               ->  3/4
none                            ->  0
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from tars_jax.judges.answers.numbers import with_figures
from tars_jax.judges.answers.units import unit_at, unit_of

Retell = Callable[[str], str]

_MANY = {"hundred": 100, "thousand": 1000, "million": 1_000_000}
_PER_MANY = re.compile(
    r"(?P<value>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?P<of>(?: [^\W\d_]+){0,3}?)"
    r" ?(?:/|per\b|(?:for|in) every\b) ?(?P<many>1[0 ,]*000?|hundred|thousand|million)\b(?![.,]?\d)",
    re.IGNORECASE,
)
_RATE = re.compile(r"\b(?P<of>[^\W\d_]+) per (?P<many>(?:\d[\d,]* ?)?)(?P<unit>[^\W\d_]+)\b")
_OUT_OF = re.compile(r"\b(\d{1,2}) out of (?:every )?(\d{1,2})\b")
_ASKS_SHARE = re.compile(r"\b(?:share|fraction|proportion|ratio|part)\b", re.IGNORECASE)
_ASKS_COUNT = re.compile(r"\bhow many\b", re.IGNORECASE)
_RANKS = {
    each: str(number)
    for number, each in enumerate(
        ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"], 1
    )
}
_MINUTES = re.compile(
    r"(?P<degrees>\d{1,3})\s?°\s?(?P<minutes>[0-5]?\d)\s?'(?:\s?(?P<seconds>[0-5]?\d(?:\.\d+)?)\s?(?:\"|''))?"
)
_AXES = {"latitude": ("s|south", "n|north"), "longitude": ("w|west", "e|east")}  # (below 0, above)
_ANGLE = r"\d+(?:[.,]\d+)?(?:\s?°|\s(?:degrees|deg)\b)?"


def asks_share(question: str) -> bool:
    return bool(_ASKS_SHARE.search(question))


def retelling(reference: str, question: str) -> Retell:
    """Ways to tell a number, the reference among them."""
    steps: list[Retell] = [lambda text: _MINUTES.sub(_in_degrees, text)] if "°" in reference else []
    steps += [
        functools.partial(_without, rate=match)
        for match in _RATE.finditer(question)
        if match["many"] or unit_of(match["of"]) is None  # km per hour is a unit
    ]
    if re.match(r"0(?:\.0+)?(?![\d.,])", reference):
        steps.append(functools.partial(_zero, is_count=bool(_ASKS_COUNT.search(question))))
    if re.search(r"\b(?:place|position|rank)\b", question, re.IGNORECASE) and reference.isdigit():
        steps.append(_ranked)
    if asks_share(question):
        steps.append(lambda text: _OUT_OF.sub(r"\1/\2", with_figures(text).text))
    if _PER_MANY.search(reference):
        steps.append(lambda text: _PER_MANY.sub(_per_mille, text))
    steps += [
        functools.partial(_sided, below=below, above=above)
        for axis, (below, above) in _AXES.items()
        if axis in question.casefold() or re.search(rf"{_ANGLE}\s?(?:{below}|{above})$", reference, re.IGNORECASE)
    ]
    return lambda text: functools.reduce(lambda told, step: step(told), steps, text)


def _in_degrees(match: re.Match[str]) -> str:
    """Writes 47°36' as 47.6°."""
    minutes = int(match["minutes"]) + float(match["seconds"] or 0) / 60
    return f"{int(match['degrees']) + minutes / 60:.8g}°"


def _without(text: str, *, rate: re.Match[str]) -> str:
    """Without a rate that the question has: "52 kcal per 100 g"."""
    many, unit = rate["many"].strip(), rate["unit"]
    return re.sub(rf" ?(?:/|\b(?:per|an?|each|every)\b) ?{many} ?{unit}\b", " ", text, flags=re.IGNORECASE)


def _zero(text: str, *, is_count: bool) -> str:
    return re.sub(r"\b(?:none|zero|no(?= \w))\b" if is_count else r"\b(?:none|zero)\b", "0", text, flags=re.IGNORECASE)


def _ranked(text: str) -> str:
    """3rd and third, of what place it was."""
    text = re.sub(r"\b(\d+)(?:st|nd|rd|th)\b", r"\1", text)
    return re.sub("|".join(rf"\b{each}\b" for each in _RANKS), lambda match: _RANKS[match[0].lower()], text, flags=re.I)


def _per_mille(match: re.Match[str]) -> str:
    if unit_at(match.string, match.end()):
        return match[0]  # per 100 km
    many = _MANY.get(match["many"].casefold()) or int(re.sub(r"\D", "", match["many"]))
    return f"{float(match['value'].replace(',', '')) * 1000 / many:.10g}‰{match['of']}"


def _sided(text: str, *, below: str, above: str) -> str:
    """A side of the globe is a sign."""
    side = rf"(?:(?P<below>{below})|{above})"
    for form in (rf"(?P<angle>{_ANGLE})\s?{side}\b", rf"\b{side}\s?(?P<angle>{_ANGLE})"):
        text = re.sub(
            form, lambda match: f"{'-' if match['below'] else '+'}{match['angle']}", text, flags=re.IGNORECASE
        )
    return text
