"""Whether each part of a question is needed: without it, there would be several answers, or another one.

A condition that is left out admits more entities; these are walked on by the same hops, and their answers must differ.
A hop that chooses among several ("the neighbor with the largest area") must choose between different answers. A hop
that is skipped must lead to another answer, or nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tars_jax.data.question_synthesis.chains import hops_from
from tars_jax.data.question_synthesis.conditions import Condition, Statistics
from tars_jax.data.question_synthesis.obfuscation import satisfying

CONDITION, CHOICE, HOP = "a condition is not needed", "a choice is not needed", "a hop is not needed"


def not_needed(proof: Mapping[str, Any], statistics: Statistics) -> str | None:
    """The first part that is idle, by its kind; None where all are needed."""
    hops: Sequence[Mapping[str, Any]] = proof["hops"]
    conditions = [Condition.from_json(each) for each in proof["conditions"]]
    asked = proof["asked"]["name"]

    def answers(titles: Iterable[str], left: Sequence[Mapping[str, Any]]) -> frozenset[str]:
        return _answers(reached(titles, left, statistics), asked, statistics)

    for place in range(len(conditions)):
        rest = [*conditions[:place], *conditions[place + 1 :]]
        if len(answers(satisfying(proof["kind"], rest, statistics), hops)) < 2:
            return CONDITION
    right = answers([proof["entity"]], hops)
    before = proof["entity"]
    for place, hop in enumerate(hops):
        after = hops[place + 1 :]
        if hop["by"] and len(answers(_candidates(before, hop, statistics), after)) < 2:
            return CHOICE
        if answers([before], after) == right:
            return HOP
        before = hop["to"]
    return None


def reached(titles: Iterable[str], hops: Sequence[Mapping[str, Any]], statistics: Statistics) -> frozenset[str]:
    """Where the hops lead from each of the titles; those from which one of them leads nowhere are left out."""
    found = frozenset(titles)
    for hop in hops:
        found = frozenset(to for title in found if (to := _next(title, hop, statistics)))
    return found


def _next(title: str, hop: Mapping[str, Any], statistics: Statistics) -> str | None:
    article = statistics.encyclopedia.articles.get(title)
    if article is None:
        return None
    same = ("relation", "by", "largest")
    ways = (each for each in hops_from(article, statistics, hop["relation"]))
    to = next((each.to for each in ways if all(getattr(each, name) == hop[name] for name in same)), None)
    return to if to in statistics.encyclopedia.articles else None


def _candidates(title: str, hop: Mapping[str, Any], statistics: Statistics) -> tuple[str, ...]:
    article = statistics.encyclopedia.articles[title]
    ways = hops_from(article, statistics, hop["relation"])
    return next((each.candidates for each in ways if each.by == hop["by"]), ())


def _answers(titles: Iterable[str], asked: str, statistics: Statistics) -> frozenset[str]:
    """What the question asks, of each of the entities: their names, or values of a fact."""
    found: set[str] = set()
    for title in titles:
        article = statistics.encyclopedia.articles[title]
        found |= {title} if asked == "name" else {str(value) for value in article.values(asked)}
    return frozenset(found)
