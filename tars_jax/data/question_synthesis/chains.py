"""Multi-hop chains (section 2.5.1): a walk over links, in which each hop's answer stands inside the next question.

A hop leads to one entity: the only one of a relation, or the first of them by a number. All hops become one sentence.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from typing import Any

from tars_jax.data.question_synthesis.conditions import Statistics
from tars_jax.tasks.browsing.article import Article

# relation -> how an entity is told by the one before it
_ONLY = {
    "capital": "the capital of {}", "country": "the country of {}",
    "found in": "the country in which {} was first found",
    "produced in": "the country in which {} is produced", "mentions": "the only other entry that is mentioned by {}",
}  # fmt: skip
_FIRST = {
    "borders": (
        "the neighbor with the {most} {by} among those of {}",
        ("area", "population", "coastline", "median age"),
    ),
    "produced in": ("the producer with the {most} {by} among those of {}", ("area", "population", "median age")),
}
CITIES = "cities"
_CITIES = "the {most} city of {}"
_MOST_CITIES = 8  # of a country, each of which somebody who answers has to look up


@dataclasses.dataclass(frozen=True)
class Hop:
    """From an entity to the next; `by` and `largest` say which of the candidates, where there are several."""

    relation: str
    words: str  # with {} for the entity before
    candidates: tuple[str, ...]
    to: str
    by: str = ""
    largest: bool = True

    def to_json(self) -> dict[str, Any]:
        return {
            "relation": self.relation, "by": self.by, "largest": self.largest, "candidates": len(self.candidates),
            "to": self.to,
        }  # fmt: skip


def hops_from(article: Article, statistics: Statistics, by_relation: str = "") -> list[Hop]:
    """All that lead on from an entity to exactly one other, each proved over the whole source; `by_relation`: by it
    alone."""
    found = []
    for relation in dict.fromkeys(fact.name for fact in article.facts if fact.kind == "entity"):
        if by_relation not in ("", relation):
            continue
        linked = tuple(map(str, article.values(relation)))
        if len(linked) == 1 and relation in _ONLY:
            found.append(Hop(relation, _ONLY[relation], linked, linked[0]))
        if len(linked) > 1 and relation in _FIRST:
            words, numbers = _FIRST[relation]
            for name in numbers:
                found += _firsts(relation, words, linked, name, statistics)
    if article.kind == "country" and by_relation in ("", CITIES):
        cities = statistics.cities(article.title)
        if 1 < len(cities) <= _MOST_CITIES:
            found += _firsts(CITIES, _CITIES, cities, "latitude", statistics)
    return found


def _firsts(
    relation: str, words: str, linked: tuple[str, ...], name: str, statistics: Statistics
) -> list[Hop]:  # fmt: skip
    """The candidates with the largest and the least number, where all have one and no two share that."""
    numbers: dict[str, float] = {}
    for title in linked:
        article = statistics.encyclopedia.articles.get(title)
        values = article.values(name) if article else ()
        if len(values) != 1:
            return []
        numbers[title] = float(values[0])
    hops = []
    pair = ("northernmost", "southernmost") if name == "latitude" else ("largest", "smallest")
    for largest, most in zip((True, False), pair, strict=True):
        best = (max if largest else min)(numbers.values())
        titles = [title for title, number in numbers.items() if number == best]
        if len(titles) == 1:
            hops.append(Hop(relation, words.format("{}", most=most, by=name), linked, titles[0], name, largest))
    return hops


def walk(start: Article, length: int, rng: random.Random, statistics: Statistics) -> list[Hop] | None:
    """`length` hops that visit no entity twice; None where the walk ends early."""
    seen, article, hops = {start.title}, start, []
    for _ in range(length):
        # Relations are drawn first, so that those with many hops do not crowd out the others.
        ways: dict[str, list[Hop]] = {}
        for hop in hops_from(article, statistics):
            if hop.to not in seen and hop.to in statistics.encyclopedia.articles:
                ways.setdefault(hop.relation, []).append(hop)
        if not ways:
            return None
        hop = rng.choice(ways[rng.choice(sorted(ways))])
        hops.append(hop)
        seen.add(hop.to)
        article = statistics.encyclopedia.articles[hop.to]
    return hops


def are_proved(start: Article, hops: list[Mapping[str, Any]], statistics: Statistics) -> bool:
    """Whether stored hops lead where they say, in this source."""
    article = start
    for stored in hops:
        if all(hop.to_json() != stored for hop in hops_from(article, statistics)):
            return False
        article = statistics.encyclopedia.articles[stored["to"]]
    return True


def merged(start: str, hops: list[Hop]) -> str:
    """One phrase of all hops."""
    for hop in hops:
        start = hop.words.format(start)
    return start
