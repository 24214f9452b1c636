"""An article of an encyclopedia: prose with links, and facts whose types questions are made from."""

from __future__ import annotations

import dataclasses
import functools
import re

LINK = re.compile(r"\[\[([^\[\]|]+)(?:\|([^\[\]]+))?\]\]")  # [[target]] or [[target|text]]
KINDS = ("number", "year", "class", "entity")
IN_PROSE = frozenset({"mentions", "speaks of", "begins with"})  # facts that stand in title and prose, not in an infobox


@dataclasses.dataclass(frozen=True)
class Fact:
    """One row of an infobox. A name that several rows have is a relation to several entities."""

    name: str
    kind: str  # one of KINDS
    value: float | str  # a number or a year; the class; the title of the entity
    unit: str = ""

    @property
    def shown(self) -> str:
        """The value as a page writes it, an entity as a link."""
        if self.kind == "entity":
            return f"[[{self.value}]]"
        return f"{written(self.value)} {self.unit}".strip() if self.kind == "number" else written(self.value, "")


@dataclasses.dataclass(frozen=True)
class Article:
    title: str
    kind: str  # "country", "city", "element", ...: facts are compared among articles of one kind
    text: tuple[str, ...] = ()  # paragraphs, with [[links]]
    facts: tuple[Fact, ...] = ()
    aliases: tuple[str, ...] = ()  # further names: they redirect here, and answers may give them

    def values(self, name: str) -> tuple[float | str, ...]:
        return self._values.get(name, ())

    @property
    def infobox(self) -> tuple[Fact, ...]:
        return tuple(fact for fact in self.facts if fact.name not in IN_PROSE)

    @functools.cached_property
    def _values(self) -> dict[str, tuple[float | str, ...]]:
        found: dict[str, tuple[float | str, ...]] = {}
        for fact in self.facts:
            found[fact.name] = (*found.get(fact.name, ()), fact.value)
        return found

    @property
    def links(self) -> tuple[str, ...]:
        """Titles that the text and the facts name, in their order, each once."""
        written_in = [match[1].strip() for line in self.text for match in LINK.finditer(line)]
        return tuple(dict.fromkeys([*written_in, *(str(fact.value) for fact in self.facts if fact.kind == "entity")]))


def written(value: float | str, thousands: str = ",") -> str:
    """A number as people write it: 1,234 or 0.5; years without a comma."""
    if isinstance(value, str):
        return value
    return f"{value:{thousands}.0f}" if float(value).is_integer() else f"{value:{thousands}.10g}"


def plain(text: str) -> str:
    """Without the marks of links."""
    return LINK.sub(lambda match: match[2] or match[1], text)
