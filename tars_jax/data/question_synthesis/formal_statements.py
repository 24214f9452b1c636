"""A chain of conditions as plain statements that a model is to put into words, and read back from what it said, such as

A has longitude from 69 to 70 °
B is a country, which A leads to by: country
C is a country, which B leads to by: borders, the one with the largest area
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tars_jax import InputError
from tars_jax.data.question_synthesis.article_links import RELATIONS
from tars_jax.data.question_synthesis.chains import Chain, Hop
from tars_jax.data.question_synthesis.conditions import FactCondition
from tars_jax.tasks.browsing.article import written

LETTERS = "ABCDEFGHIJ"
READING = """{"kind": KIND, "conditions": [CONDITION, ...], "hops": [HOP, ...], "asked": FACT or "name"}
CONDITION: {"name": FACT, "low": NUMBER, "high": NUMBER}, {"name": FACT, "decade": YEAR}, {"name": FACT, "is": WORDS}
  or {"name": FACT, "kind": KIND, "of": CONDITION}, of an entity that it is in relation to
HOP, to the entity that is told next: {"relation": RELATION, "by": FACT or "", "largest": true or false,
  "conditions": [CONDITION, ...]}"""


def statements(chain: Chain, kinds: Sequence[str], asked: Mapping[str, str]) -> list[str]:
    """Statements of a chain, one for each entity, condition and hop, and what is asked for. `kinds`: of the
    entities."""
    said = []
    for place, (letter, kind, conditions) in enumerate(zip(LETTERS, kinds, chain.told, strict=False)):
        way = ""
        if place:
            hop = chain.hops[place - 1]
            most = f", the one with the {'largest' if hop.largest else 'smallest'} {hop.by}" if hop.by else ""
            way = f", which {LETTERS[place - 1]} leads to by: {hop.relation}{most}"
        said.append(f"{letter} is a {kind}{way}")
        said += [f"{letter} has {_stated(each)}" for each in conditions]
    return [*said, f"asked for: the {asked['name']} of {letter}, as {asked['form']}"]


def _stated(condition: FactCondition) -> str:
    match condition.kind:
        case "number":
            said = f"from {written(condition.low)} to {written(condition.high)} {condition.unit}".strip()
        case "year":
            said = f"in the {condition.low:.0f}s"
        case "class":
            said = f"“{condition.value}”"
        case _:
            assert condition.of is not None
            return f"as one {condition.name}: a {condition.value} with {_stated(condition.of)}"
    return f"{condition.name} {said}"


def read_chain(record: Any) -> tuple[Chain, str]:
    """The chain, and which fact is asked for. Raises InputError for another form than READING."""
    try:
        hops = [Hop(each["relation"], each.get("by", ""), bool(each.get("largest", True))) for each in record["hops"]]
        told = [record["conditions"], *(each["conditions"] for each in record["hops"])]
        chain = Chain(record["kind"], tuple(tuple(map(_condition, each)) for each in told), tuple(hops))
        asked = record["asked"]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"a reading must be {READING}; got {record!r:.300}") from error
    known = all(each.relation in RELATIONS and each.by in ("", *RELATIONS[each.relation]) for each in hops)
    if not known or not isinstance(asked, str) or not isinstance(chain.kind, str):
        raise InputError(f"a reading must be {READING}; got {record!r:.300}")
    return chain, asked


def _condition(record: Mapping[str, Any]) -> FactCondition:
    name = str(record["name"])
    if "of" in record:
        return FactCondition(name, "entity", value=str(record["kind"]), of=_condition(record["of"]))
    if "decade" in record:
        return FactCondition(name, "year", float(record["decade"]), float(record["decade"]) + 10)
    if "is" in record:
        return FactCondition(name, "class", value=str(record["is"]))
    return FactCondition(name, "number", float(record["low"]), float(record["high"]))
