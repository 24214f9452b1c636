"""Multi-condition obfuscation (section 2.5.1): entities told by vague conditions that only they satisfy together.

Facts of an entity become conditions; those that nearly tell it alone are made vaguer or dropped, and so are those that
nearly everything satisfies. Each entity of a chain, not the first alone, is told by at least one; further ones are
added until the source has one such chain, and then each that is not needed goes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from tars_jax.data.config import ObfuscationLimits
from tars_jax.data.question_synthesis.chains import Chain, Hop
from tars_jax.data.question_synthesis.conditions import FactCondition, Statistics, obfuscated
from tars_jax.tasks.browsing.article import Article

ATTEMPTS = 6  # with other facts, until each is needed
MOST_CONDITIONS = 6  # of an entity alone; each hop may have one more


Reveals = Callable[[str, str], bool]  # of an entity's kind, and the words of a condition


def describe(
    titles: Sequence[str], hops: Sequence[Hop], rng: random.Random, statistics: Statistics, limits: ObfuscationLimits,
    counts: dict[str, int], reveals: Reveals = lambda kind, words: False,
) -> Chain | None:  # fmt: skip
    """None where the facts of these entities, made vague, do not tell them from all others. `counts` says how many
    conditions were dropped, by reason. What statistics let pass, `reveals` is asked about: it is made vaguer still, or
    dropped."""
    chain = None
    for _ in range(ATTEMPTS):
        chain = _drawn(titles, hops, rng, statistics, limits, counts, reveals) or chain
        if chain and all(len(chain.without(place).meant(statistics)[-1]) > 1 for place in range(len(chain.conditions))):
            break
    return chain


def _drawn(
    titles: Sequence[str], hops: Sequence[Hop], rng: random.Random, statistics: Statistics, limits: ObfuscationLimits,
    counts: dict[str, int], reveals: Reveals,
) -> Chain | None:  # fmt: skip
    articles = [statistics.encyclopedia.articles[title] for title in titles]
    leaving = [*(hop.relation for hop in hops), ""]
    left = [
        _usable(each, frozenset(titles), relation, rng, statistics, limits, counts, reveals)
        for each, relation in zip(articles, leaving, strict=True)
    ]
    told: list[list[Sequence[FactCondition]]] = [[] for _ in articles]

    def chain() -> Chain:
        conditions = tuple(tuple(forms[0] for forms in each) for each in told)
        return Chain(articles[0].kind, conditions, tuple(hops))

    def meant() -> list[int]:
        return [len(each) for each in chain().meant(statistics)]

    for each, more in zip(told, left, strict=True):
        first = next(more, None)
        if first is None:
            return None
        each.append(first)
    before = meant()
    open_places = list(range(len(articles)))
    while before[-1] > 1:
        if not open_places or sum(map(len, told)) >= MOST_CONDITIONS + len(hops):
            return None
        place = rng.choice(open_places)
        forms = next(left[place], None)
        if forms is None:
            open_places.remove(place)
            continue
        told[place].append(forms)
        if (after := meant()) == before:
            told[place].pop()
        before = after
    _drop_idle(told, lambda: meant()[-1] == 1)
    _blur(told, lambda: meant()[-1] == 1, rng)
    return chain()


def _drop_idle(told: list[list[Sequence[FactCondition]]], is_told: Callable[[], bool]) -> None:
    """Each entity keeps one condition, and one that stands alone two."""
    least = 1 if len(told) > 1 else 2
    for each in told:
        for forms in list(each):
            if len(each) > least:
                place = each.index(forms)
                del each[place]
                if not is_told():
                    each.insert(place, forms)


def _blur(told: list[list[Sequence[FactCondition]]], is_told: Callable[[], bool], rng: random.Random) -> None:
    """Each condition becomes as vague as the others allow, so that all of them are needed."""
    places = [(number, place) for number, each in enumerate(told) for place in range(len(each))]
    rng.shuffle(places)
    for number, place in places:
        forms = told[number][place]
        for start in reversed(range(len(forms))):
            told[number][place] = forms[start:]
            if is_told():
                break


def _usable(
    article: Article, titles: frozenset[str], leaving: str, rng: random.Random, statistics: Statistics,
    limits: ObfuscationLimits, counts: dict[str, int], reveals: Reveals,
) -> Iterator[Sequence[FactCondition]]:  # fmt: skip
    """Facts of an entity as conditions, vaguer and vaguer, in a random order; none that speaks of an entity of the
    chain, or by the relation that the next hop takes; and one that speaks of another entity at most, so that no
    sentence has relative clauses in each other."""
    kind = article.kind
    least, most = limits.least_matches, limits.most_share * len(statistics.of_kind(kind))
    names: set[str] = set()
    speaks_of_another = False
    for fact in rng.sample(article.facts, len(article.facts)):
        is_entity = fact.kind == "entity"
        several = len(article.values(fact.name)) > 1
        if is_entity and (speaks_of_another or fact.name == leaving or str(fact.value) in titles):
            continue
        if fact.name in names and not several:
            continue
        forms = obfuscated(fact, rng, statistics)
        held = [(each, len(statistics.holding(kind, each))) for each in forms]
        fitting = [each for each, count in held if least <= count <= most]
        narrowest = next((place for place, each in enumerate(fitting) if not reveals(kind, each.words)), None)
        if narrowest is not None:
            names.add(fact.name)
            speaks_of_another = speaks_of_another or is_entity
            yield fitting[narrowest:]
        elif held:
            reason = "revealing to a model" if fitting else "too revealing" if held[-1][1] < least else "says nothing"
            counts[reason] = counts.get(reason, 0) + 1
