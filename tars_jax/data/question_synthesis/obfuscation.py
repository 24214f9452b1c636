"""Multi-condition obfuscation (section 2.5.1): an entity told by several vague conditions that only it satisfies.

Facts of an entity become conditions; those that nearly tell it alone are made vaguer or dropped, and so are those that
nearly everything satisfies; conditions are added until one entity is left, and then each that is not needed goes. The
proof holds how many entities of the whole source satisfy them, one after the other, and without each.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tars_jax.data.question_synthesis.conditions import Condition, Statistics, obfuscated
from tars_jax.data.question_synthesis.wording import described
from tars_jax.tasks.browsing.article import Article

MOST_CONDITIONS = 6


@dataclasses.dataclass(frozen=True)
class Limits:
    """What a condition may tell."""

    least_matches: int = 4  # entities that a condition holds for: fewer would reveal the one
    most_share: float = 0.7  # of all entities of the kind: more tells nothing


@dataclasses.dataclass(frozen=True)
class Described:
    """An entity by its conditions."""

    article: Article
    conditions: tuple[Condition, ...]

    @property
    def words(self) -> str:
        return described(self.article.kind, [each.words for each in self.conditions])


Reveals = Callable[[str, str], bool]  # of an entity's kind, and the words of a condition


def describe(
    article: Article, rng: random.Random, statistics: Statistics, limits: Limits, counts: dict[str, int],
    reveals: Reveals = lambda kind, words: False,
) -> Described | None:  # fmt: skip
    """None where its facts, made vague, do not tell it from all others. `counts` says how many conditions were dropped,
    by reason. What statistics let pass, `reveals` is asked about: it is made vaguer still, or dropped."""
    kind = article.kind
    usable: list[list[Condition]] = []
    for fact in article.facts:
        forms = obfuscated(fact, rng, statistics)
        held = [(each, len(statistics.holding(kind, each))) for each in forms]
        fitting = [
            each
            for each, count in held
            if limits.least_matches <= count <= limits.most_share * len(statistics.of_kind(kind))
        ]
        if fitting:
            usable.append(fitting)
        elif held:
            reason = "too revealing" if held[-1][1] < limits.least_matches else "says nothing"
            counts[reason] = counts.get(reason, 0) + 1
    rng.shuffle(usable)
    left = statistics.titles(kind)
    taken: list[Condition] = []
    for forms in usable:
        if len(article.values(forms[0].name)) == 1 and any(each.name == forms[0].name for each in taken):
            continue
        condition = next((each for each in forms if not reveals(kind, each.words)), None)
        if condition is None:
            counts["revealing to a model"] = counts.get("revealing to a model", 0) + 1
            continue
        fewer = left & statistics.holding(kind, condition)
        if len(fewer) < len(left):
            taken.append(condition)
            left = fewer
        if len(left) == 1 or len(taken) == MOST_CONDITIONS:
            break
    if len(left) != 1:
        return None
    for condition in list(taken):
        rest = [each for each in taken if each != condition]
        if len(rest) >= 2 and len(satisfying(kind, rest, statistics)) == 1:
            taken = rest
    return Described(article, tuple(taken))


def satisfying(kind: str, conditions: Sequence[Condition], statistics: Statistics) -> frozenset[str]:
    """Titles of all entities of the source for which all conditions hold."""
    held = sorted((statistics.holding(kind, each) for each in conditions), key=len)
    return frozenset.intersection(*held) if held else statistics.titles(kind)


def proof_of(described: Described, statistics: Statistics) -> dict[str, Any]:
    """Counts after each condition, and without each one of them."""
    kind, conditions = described.article.kind, described.conditions
    every = range(len(conditions))
    return {
        "kind": kind,
        "entities": len(statistics.of_kind(kind)),
        "conditions": [each.to_json() for each in conditions],
        "bits": [round(statistics.bits(kind, each), 3) for each in conditions],
        "counts": [len(satisfying(kind, conditions[: place + 1], statistics)) for place in every],
        "without": [
            len(satisfying(kind, [*conditions[:place], *conditions[place + 1 :]], statistics)) for place in every
        ],
        "entity": described.article.title,
    }


def is_proved(proof: Mapping[str, Any], statistics: Statistics) -> bool:
    """Whether a stored proof holds in the source: that entity alone satisfies all, and the counts are right."""
    conditions = tuple(map(Condition.from_json, proof["conditions"]))
    article = statistics.encyclopedia.articles.get(proof["entity"])
    if article is None or article.kind != proof["kind"]:
        return False
    return satisfying(article.kind, conditions, statistics) == {article.title} and all(
        proof_of(Described(article, conditions), statistics)[each] == proof[each] for each in ("counts", "without")
    )
