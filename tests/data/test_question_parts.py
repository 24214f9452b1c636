"""Each condition, choice and hop of a question is needed, or it is turned down; and how questions are said."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tars_jax.data.question_synthesis.chains import hops_from, merged
from tars_jax.data.question_synthesis.conditions import Condition, Statistics, obfuscated
from tars_jax.data.question_synthesis.needed import CHOICE, CONDITION, HOP, not_needed
from tars_jax.tasks.browsing.article import Article, Fact
from tars_jax.tasks.browsing.encyclopedia import Encyclopedia


def land(title: str, color: str, size: str, zone: str, area: float, *borders: str) -> Article:
    facts = [Fact("color", "class", color), Fact("size", "class", size), Fact("zone", "class", zone)]
    facts += [Fact("area", "number", area, "km²"), Fact("capital", "entity", f"City {title}")]
    return Article(title, "country", (), (*facts, *(Fact("borders", "entity", each) for each in borders)))


def city(title: str, zone: str) -> Article:
    return Article(f"City {title}", "city", (), (Fact("zone", "class", zone), Fact("status", "class", "capital")))


def world(second_zone: str = "east") -> Statistics:
    """P alone is red and big."""
    lands = (
        land("P", "red", "big", "north", 1, "U", "V"), land("Q", "red", "small", "north", 2, "S", "T"),
        land("R", "blue", "big", "south", 3, "S", "T"), land("S", "white", "small", "south", 4),
        land("T", "white", "small", "south", 5), land("U", "white", "small", "east", 6),
        land("V", "white", "small", second_zone, 7),
    )  # fmt: skip
    cities = [city("P", "north"), city("Q", "west"), *(city(each, "south") for each in "RSTUV")]
    return Statistics(Encyclopedia([*lands, *cities]))


def proof(asked: str, *hops: dict[str, Any]) -> dict[str, Any]:
    conditions = [Condition("color", "class", value="red"), Condition("size", "class", value="big")]
    return {
        "kind": "country", "entity": "P", "conditions": [each.to_json() for each in conditions], "hops": list(hops),
        "asked": {"kind": "country", "name": asked},
    }  # fmt: skip


CAPITAL = {"relation": "capital", "by": "", "largest": True, "candidates": 1, "to": "City P"}
NEIGHBOR = {"relation": "borders", "by": "area", "largest": False, "candidates": 2, "to": "U"}


def test_parts_that_are_needed_and_parts_that_are_not() -> None:
    statistics = world()
    assert not_needed(proof("name"), statistics) is None
    # Without "big", P and Q are left, both in the north.
    assert not_needed(proof("zone"), statistics) == CONDITION
    # The capital's zone is the country's own.
    assert not_needed(proof("zone", CAPITAL), statistics) == HOP
    assert not_needed(proof("status", CAPITAL), statistics) == CONDITION  # every capital's is the same
    assert not_needed(proof("name", CAPITAL), statistics) is None
    # U and V both lie in the east: whichever is the smaller.
    assert not_needed(proof("zone", NEIGHBOR), statistics) == CHOICE
    assert not_needed(proof("zone", NEIGHBOR), world("west")) is None


def test_a_range_has_one_reading() -> None:
    """The entity's own value is never at an end of it, so that "10 to 20" with or without its ends holds."""
    statistics = world()
    for value in (100.0, 0.5, 7.0, -40.0, 51393010.0, 0.001, 19.99):
        for each in obfuscated(Fact("area", "number", value, "km²"), random.Random(0), statistics):
            assert each.low < value < each.high


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (Condition("population", "number", 1e6, 2e6), "with 1,000,000 to 2,000,000 inhabitants"),
        (Condition("forest", "number", 30, 40, unit="%"), "that is 30 to 40% forest"),
        (Condition("density", "number", 8, 9, unit="g/cm³"), "with a density of 8 to 9 g/cm³"),
        (Condition("independent since", "year", 1960, 1970), "that became independent in the 1960s"),
        (Condition("field", "class", value="language"), "from the field “language”"),
        (
            Condition("borders", "entity", value="country", of=Condition("continent", "class", value="Asia")),
            "that borders a country in Asia",
        ),
    ],
)
def test_words_of_conditions(condition: Condition, words: str) -> None:
    assert condition.words == words


def test_a_chain_says_whose_neighbor_it_is() -> None:
    statistics = world()
    (hop,) = [
        each for each in hops_from(statistics.encyclopedia.articles["P"], statistics, "borders") if not each.largest
    ]
    assert (
        merged("the country in Asia", [hop]) == "the neighbor with the smallest area among those of the country in Asia"
    )
    assert (hop.to, hop.candidates) == ("U", ("U", "V"))
