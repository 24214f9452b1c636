"""Other figures for an encyclopedia whose entities have other names, drawn by the same seed.

A policy may know by heart which country has 51,393,010 inhabitants. All numbers of one fact are moved together, so that
what is larger stays larger, and what is twice as much nearly so; all years by as many. Prose is moved with the facts.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Iterable

from tars_jax.tasks.browsing.article import LINK, Article, Fact, written

_FACTORS = (0.72, 0.97)  # shares and degrees stay below their ends
_SHIFTS = (3, 17)  # of whole numbers that count something up: no two become one
_LARGEST_SHIFTED = 1000
_FIGURE = re.compile(r"(?<![\w.,])(?P<figure>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?![\w]|[.,]\d)")
YEAR = re.compile(r"1[0-9]{3}|20[0-2][0-9]")


@dataclasses.dataclass(frozen=True)
class _Moves:
    factors: dict[str, float]
    shifts: dict[str, int]
    prose: float
    years: int

    def value(self, name: str, value: float) -> float:
        if name in self.shifts:
            return value + self.shifts[name]
        return round(value * self.factors[name], decimals(value))


def with_other_figures(articles: Iterable[Article], seed: int) -> list[Article]:
    """The same articles with other numbers and years; those that are 0 stay 0."""
    listed = list(articles)
    moves = _moves(listed, seed)
    return [_moved(article, moves) for article in listed]


def _moves(articles: list[Article], seed: int) -> _Moves:
    rng = random.Random(f"figures {seed}")
    values: dict[str, list[float]] = {}
    for article in articles:
        for fact in article.facts:
            if fact.kind == "number":
                values.setdefault(fact.name, []).append(float(fact.value))
    factors = {name: rng.uniform(*_FACTORS) for name in sorted(values)}
    shifts = {name: rng.randint(*_SHIFTS) for name in sorted(values) if _counts_up(values[name])}
    return _Moves(factors, shifts, rng.uniform(*_FACTORS), rng.choice((-1, 1)) * rng.randint(4, 15))


def _counts_up(values: list[float]) -> bool:
    """Such as atomic numbers: whole, from 1 on, and none too large."""
    return min(values) >= 1 and max(values) < _LARGEST_SHIFTED and all(each.is_integer() for each in values)


def _moved(article: Article, moves: _Moves) -> Article:
    facts = tuple(_fact(each, moves) for each in article.facts)
    known = {
        written(old.value): written(new.value)
        for old, new in zip(article.facts, facts, strict=True)
        if old.kind == "number"
    }

    def figure(match: re.Match[str]) -> str:
        said = match["figure"]
        if said in known:
            return known[said]
        if YEAR.fullmatch(said):
            return str(int(said) + moves.years)
        value = float(said.replace(",", ""))
        if len(said.replace(",", "").replace(".", "").strip("0")) < 3:
            return said  # of two digits or fewer: tells nothing
        return f"{value * moves.prose:{',' if ',' in said else ''}.{decimals_of(said)}f}"

    def line(text: str) -> str:
        pieces, done = [], 0
        for link in LINK.finditer(text):
            pieces += [_FIGURE.sub(figure, text[done : link.start()]), link[0]]
            done = link.end()
        return "".join((*pieces, _FIGURE.sub(figure, text[done:])))

    return dataclasses.replace(article, text=tuple(map(line, article.text)), facts=facts)


def _fact(fact: Fact, moves: _Moves) -> Fact:
    if fact.kind == "number":
        return dataclasses.replace(fact, value=moves.value(fact.name, float(fact.value)))
    if fact.kind == "year":
        return dataclasses.replace(fact, value=int(fact.value) + moves.years)
    return fact


def decimals(value: float) -> int:
    return decimals_of(written(value))


def decimals_of(said: str) -> int:
    return len(said.partition(".")[2]) if "e" not in said else 12
