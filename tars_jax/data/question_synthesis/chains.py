"""Multi-hop chains (section 2.5.1): walks over links, and which entities a chain of conditions and hops can mean.

Each entity of a chain is told by vague features of its own. One hop leads to any entity of a relation, or to the first
of them by a number; what the features of all entities together leave is what is meant.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from tars_jax.data.question_synthesis.article_links import RELATIONS, ROUND
from tars_jax.data.question_synthesis.conditions import FactCondition, Statistics

_WALKS = 6


@dataclasses.dataclass(frozen=True)
class Hop:
    """A hop from an entity to those of a relation, or by a number (`by`) to the first of them alone."""

    relation: str
    by: str = ""
    largest: bool = True

    def ways(self, statistics: Statistics) -> Mapping[str, tuple[str, ...]]:
        """Title -> where it leads from there."""
        return statistics.links.table(self.relation, self.by, self.largest)


@dataclasses.dataclass(frozen=True)
class Chain:
    """`told`: the conditions on the first entity, then on each one that a hop leads to. No hop: one entity alone."""

    kind: str  # of the first entity
    told: tuple[tuple[FactCondition, ...], ...]
    hops: tuple[Hop, ...] = ()

    @property
    def conditions(self) -> tuple[FactCondition, ...]:
        return tuple(condition for conditions in self.told for condition in conditions)

    def without(self, place: int) -> Self:
        """Without the condition of that number."""
        told, number = [], 0
        for conditions in self.told:
            told.append(tuple(each for at, each in enumerate(conditions, number) if at != place))
            number += len(conditions)
        return dataclasses.replace(self, told=tuple(told))

    def first(self, count: int) -> Self:
        """The chain with its first `count` conditions alone."""
        found = self
        for place in reversed(range(count, len(self.conditions))):
            found = found.without(place)
        return found

    def past(self, place: int) -> Self:
        """Without hop number `place`, and what is told of where it leads."""
        told, hops = list(self.told), list(self.hops)
        del told[place + 1], hops[place]
        return dataclasses.replace(self, told=tuple(told), hops=tuple(hops))

    def any_way(self, place: int) -> Self:
        """Hop number `place` leads to all of its relation."""
        hops = [Hop(hop.relation) if at == place else hop for at, hop in enumerate(self.hops)]
        return dataclasses.replace(self, hops=tuple(hops))

    def meant(self, statistics: Statistics) -> list[frozenset[str]]:
        """Titles that each of its entities can have, over the whole source: one each where one chain alone fits."""
        levels = [satisfying(self.kind, self.told[0], statistics)]
        tables = [hop.ways(statistics) for hop in self.hops]
        for ways, conditions in zip(tables, self.told[1:], strict=True):
            reached = frozenset(to for title in levels[-1] for to in ways.get(title, ()))
            levels.append(_holding(reached, conditions, statistics))
        for place, ways in reversed(list(enumerate(tables))):
            after = levels[place + 1]
            levels[place] = frozenset(title for title in levels[place] if not after.isdisjoint(ways.get(title, ())))
        return levels

    def answers(self, asked: str, statistics: Statistics) -> frozenset[tuple[str, ...]]:
        """Answers about the last entity: names, or the values of a fact, of all that it can be."""
        articles = statistics.encyclopedia.articles
        last = self.meant(statistics)[-1]
        if asked == "name":
            return frozenset((title,) for title in last)
        return frozenset(tuple(sorted(map(str, values))) for title in last if (values := articles[title].values(asked)))

    @classmethod
    def from_proof(cls, proof: Mapping[str, Any]) -> Self:
        hops = tuple(Hop(each["relation"], each["by"], each["largest"]) for each in proof["hops"])
        told = [proof["conditions"], *(each["conditions"] for each in proof["hops"])]
        return cls(proof["kind"], tuple(tuple(map(FactCondition.from_json, each)) for each in told), hops)


def satisfying(kind: str, conditions: Sequence[FactCondition], statistics: Statistics) -> frozenset[str]:
    """Titles of all entities of the source for which all conditions hold."""
    held = sorted((statistics.holding(kind, each) for each in conditions), key=len)
    return frozenset.intersection(*held) if held else statistics.titles(kind)


def _holding(titles: frozenset[str], conditions: Sequence[FactCondition], statistics: Statistics) -> frozenset[str]:
    """Entities for which all conditions hold, whatever their kinds."""
    kinds = {statistics.encyclopedia.articles[title].kind for title in titles} if conditions else ()
    found = [titles & satisfying(kind, conditions, statistics) for kind in kinds]
    return frozenset().union(*found) if conditions else titles


def walk(start: str, length: int, rng: random.Random, statistics: Statistics) -> tuple[list[str], list[Hop]] | None:
    """Titles, and `length` hops between them that never lead back; None where several walks end early."""
    walks = (_walk(start, length, rng, statistics) for _ in range(_WALKS))
    return next((each for each in walks if each), None)


def _walk(start: str, length: int, rng: random.Random, statistics: Statistics) -> tuple[list[str], list[Hop]] | None:
    titles: list[str] = [start]
    hops: list[Hop] = []
    for _ in range(length):
        before = hops[-1].relation if hops else ""
        # Relations are drawn first, so that those with many ways do not crowd out the others.
        ways: dict[tuple[str, bool], list[tuple[Hop, str]]] = {}
        for relation in RELATIONS:
            if (before, relation) in ROUND:
                continue
            for hop, to in _ways(titles[-1], relation, statistics):
                if to not in titles:
                    ways.setdefault((relation, bool(hop.by)), []).append((hop, to))
        if not ways:
            return None
        relation = rng.choice(sorted({relation for relation, _ in ways}))
        hop, to = rng.choice(ways[rng.choice(sorted(way for way in ways if way[0] == relation))])
        hops.append(hop)
        titles.append(to)
    return titles, hops


def _ways(title: str, relation: str, statistics: Statistics) -> Iterable[tuple[Hop, str]]:
    compared = itertools.product(RELATIONS[relation], (True, False))
    for hop in (Hop(relation), *(Hop(relation, by, largest) for by, largest in compared)):
        to_all = hop.ways(statistics).get(title, ())
        if statistics.links.can_be_looked_up(title, relation, hop.by) and (not hop.by or len(to_all) == 1):
            yield from ((hop, to) for to in to_all)


def is_round_trip(proof: Mapping[str, Any], statistics: Statistics) -> bool:
    """Whether a hop, a condition or what is asked leads back to an entity of the chain."""
    chain = Chain.from_proof(proof)
    articles = statistics.encyclopedia.articles
    titles = [proof["entity"], *(each["to"] for each in proof["hops"])]
    relations = [hop.relation for hop in chain.hops]
    asked = set(map(str, articles[titles[-1]].values(proof["asked"]["name"])))
    spoken_of = {
        str(value)
        for title, conditions in zip(titles, chain.told, strict=True)
        for condition in conditions
        if condition.of is not None
        for value in articles[title].values(condition.name)
        if (linked := articles.get(str(value))) and condition.of.holds(linked, statistics.encyclopedia)
    }
    return (
        len(set(titles)) < len(titles)
        or any(pair in ROUND for pair in itertools.pairwise(relations))
        or not asked.isdisjoint(titles)
        or not spoken_of.isdisjoint((*titles, *asked))
    )
