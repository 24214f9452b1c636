"""The proof that a question has one answer over the whole source, and that each of its parts is needed for that.

A condition that is left out admits more entities, of which the answers must differ. A hop that chooses among several
("the one with the largest area") must choose between different answers. A hop that is skipped must lead to another
answer, or nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax.data.question_synthesis.chains import Chain
from tars_jax.data.question_synthesis.conditions import Statistics

CONDITION, CHOICE, HOP = "a condition is not needed", "a choice is not needed", "a hop is not needed"


def proof_of(
    chain: Chain, titles: Sequence[str], asked: Mapping[str, str], statistics: Statistics
) -> dict[str, Any]:  # fmt: skip
    """`counts`: entities that the last one can be, after each condition; `without`: answers without each one."""
    articles = statistics.encyclopedia.articles
    every = range(len(chain.conditions))
    kinds = [articles[title].kind for title in titles]
    hops = [
        {
            "relation": hop.relation, "by": hop.by, "largest": hop.largest, "to": to,
            "candidates": len(statistics.links.of(before, hop.relation)), "conditions": [c.to_json() for c in told],
        }
        for hop, before, to, told in zip(chain.hops, titles, titles[1:], chain.told[1:], strict=False)
    ]  # fmt: skip
    return {
        "kind": chain.kind,
        "entities": len(statistics.of_kind(chain.kind)),
        "conditions": [each.to_json() for each in chain.told[0]],
        "bits": [
            round(statistics.bits(kind, each), 3) for kind, told in zip(kinds, chain.told, strict=True) for each in told
        ],
        "counts": [len(chain.first(place + 1).meant(statistics)[-1]) for place in every],
        "without": [len(chain.without(place).answers(asked["name"], statistics)) for place in every],
        "entity": titles[0],
        "hops": hops,
        "asked": dict(asked),
    }


def is_proved(proof: Mapping[str, Any], statistics: Statistics) -> bool:
    """Whether a stored proof holds in the source: its last entity alone can be meant, and what it counts is right."""
    titles = [proof["entity"], *(each["to"] for each in proof["hops"])]
    if not all(title in statistics.encyclopedia.articles for title in titles):
        return False
    chain = Chain.from_proof(proof)
    if statistics.encyclopedia.articles[titles[0]].kind != chain.kind:
        return False
    meant = chain.meant(statistics)
    if meant[-1] != {titles[-1]} or not all(title in each for title, each in zip(titles, meant, strict=True)):
        return False
    return all(proof.get(name) == held for name, held in proof_of(chain, titles, proof["asked"], statistics).items())


def not_needed(proof: Mapping[str, Any], statistics: Statistics) -> str | None:
    """The first part that is idle, by its kind; None where all are needed."""
    chain, asked = Chain.from_proof(proof), proof["asked"]["name"]
    if any(len(chain.without(place).answers(asked, statistics)) < 2 for place in range(len(chain.conditions))):
        return CONDITION
    right = chain.answers(asked, statistics)
    for place, hop in enumerate(chain.hops):
        if hop.by and len(chain.any_way(place).answers(asked, statistics)) < 2:
            return CHOICE
        if chain.past(place).answers(asked, statistics) == right:
            return HOP
    return None
