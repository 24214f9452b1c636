"""Typed predicates over facts, and how vague ones are made of exact facts: numbers to ranges, years to decades, names
of entities to what is so about them."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Iterator, Mapping
from typing import Any, Self

from tars_jax.data.question_synthesis.article_links import ArticleLinks
from tars_jax.data.question_synthesis.wording import class_words, decade_words, entity_words, range_words
from tars_jax.tasks.browsing.article import Article, Fact
from tars_jax.tasks.browsing.encyclopedia import Encyclopedia

_WIDER = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)  # of a number's order of magnitude: the width of its range

_BOUNDS = {"latitude": (-90.0, 90.0), "longitude": (-180.0, 180.0), "%": (0.0, 100.0)}  # by name or unit


@dataclasses.dataclass(frozen=True)
class FactCondition:
    """`kind` says how a fact of that name has to be: from `low` to `high` (of a number, `high` included), the class
    `value`, or an entity (of kind `value`) for which `of` holds."""

    name: str
    kind: str  # number, year, class, entity
    low: float = 0.0
    high: float = 0.0
    value: str = ""
    unit: str = ""
    of: FactCondition | None = None

    def holds(self, article: Article, encyclopedia: Encyclopedia) -> bool:
        """Whether the condition holds for any of the facts with that name."""
        values = article.values(self.name)
        match self.kind:
            case "number":
                return any(self.low <= float(value) <= self.high for value in values)
            case "year":
                return any(self.low <= float(value) < self.high for value in values)
            case "class":
                return self.value in values
        assert self.of is not None
        linked = (encyclopedia.articles.get(str(value)) for value in values)
        return any(each and each.kind == self.value and self.of.holds(each, encyclopedia) for each in linked)

    @property
    def words(self) -> str:
        match self.kind:
            case "year":
                return decade_words(self.name, self.low)
            case "number":
                return range_words(self.name, self.low, self.high, self.unit)
            case "class":
                return class_words(self.name, self.value)
        assert self.of is not None
        return entity_words(self.name, self.value, self.of.words)

    def to_json(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "of": self.of.to_json() if self.of else None}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        return cls(**{**record, "of": cls.from_json(record["of"]) if record["of"] else None})


class Statistics:
    """The articles of a kind that satisfy a condition: distinctiveness is scored by the source itself."""

    def __init__(self, encyclopedia: Encyclopedia) -> None:
        self.encyclopedia = encyclopedia
        self.links = ArticleLinks(encyclopedia)
        self._kinds: dict[str, tuple[Article, ...]] = {}
        self._titles_of: dict[str, frozenset[str]] = {}
        self._index: dict[tuple[str, str], list[tuple[str, float | str]]] = {}
        self._holding: dict[tuple[str, FactCondition], frozenset[str]] = {}

    def of_kind(self, kind: str) -> tuple[Article, ...]:
        if kind not in self._kinds:
            self._kinds[kind] = self.encyclopedia.of_kind(kind)
        return self._kinds[kind]

    def titles(self, kind: str) -> frozenset[str]:
        if kind not in self._titles_of:
            self._titles_of[kind] = frozenset(each.title for each in self.of_kind(kind))
        return self._titles_of[kind]

    def holding(self, kind: str, condition: FactCondition) -> frozenset[str]:
        """Titles of all articles of the kind for which it holds: over the whole source."""
        key = kind, condition
        if key not in self._holding:
            self._holding[key] = frozenset(self._titles(kind, condition))
        return self._holding[key]

    def _titles(self, kind: str, condition: FactCondition) -> Iterator[str]:
        """As `FactCondition.holds` of each article, by an index of facts: articles and conditions are thousands."""
        facts = self._facts(kind, condition.name)
        match condition.kind:
            case "number":
                return (title for title, value in facts if condition.low <= float(value) <= condition.high)
            case "year":
                return (title for title, value in facts if condition.low <= float(value) < condition.high)
            case "class":
                return (title for title, value in facts if value == condition.value)
        assert condition.of is not None
        linked = self.holding(condition.value, condition.of)
        return (title for title, value in facts if value in linked)

    def _facts(self, kind: str, name: str) -> list[tuple[str, float | str]]:
        if (kind, name) not in self._index:
            self._index[kind, name] = [
                (each.title, value) for each in self.of_kind(kind) for value in each.values(name)
            ]
        return self._index[kind, name]

    def bits(self, kind: str, condition: FactCondition) -> float:
        """Distinctiveness: how many bits of the entity the condition tells, 0 for what holds of all."""
        return -math.log2(len(self.holding(kind, condition)) / len(self.of_kind(kind)))


def obfuscated(fact: Fact, rng: random.Random, statistics: Statistics, *, nested: bool = True) -> list[FactCondition]:
    """Vaguer and vaguer conditions that a fact satisfies, the narrowest first; none where it cannot be made vague."""
    match fact.kind:
        case "year":
            decade = float(fact.value) // 10 * 10
            return [FactCondition(fact.name, "year", decade, decade + 10)]
        case "number":
            value = float(fact.value)
            return [each for width in _WIDER if value and (each := _range(fact, width)).low < value < each.high]
        case "class":
            return [FactCondition(fact.name, "class", value=str(fact.value))]
    linked = statistics.encyclopedia.articles.get(str(fact.value))
    if linked is None or not nested:
        return []
    about = [each for each in linked.facts if each.kind != "entity"]
    if not about:
        return []
    inner = obfuscated(rng.choice(about), rng, statistics, nested=False)
    return [FactCondition(fact.name, "entity", value=linked.kind, of=each) for each in inner]


def _range(fact: Fact, width: float) -> FactCondition:
    """A range between round numbers, of which the value is neither: "between" then has one reading."""
    value = float(fact.value)
    step = width * 10.0 ** math.floor(math.log10(abs(value)))
    low = math.floor(value / step) * step
    if value - low < 1e-9 * abs(value) + 1e-12 or low + step - value < 1e-9 * abs(value):
        step = max(step, 2.0) if value.is_integer() else step
        low = value - (step // 2 if value.is_integer() else step / 2)
    least, most = _BOUNDS.get(fact.name, _BOUNDS.get(fact.unit, (-math.inf, math.inf)))
    low, high = max(float(f"{low:.6g}"), least), min(float(f"{low + step:.6g}"), most)
    return FactCondition(fact.name, "number", low, high, unit=fact.unit)
