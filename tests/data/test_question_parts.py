"""Each condition, choice and hop of a question is needed, none leads back, and how questions are said."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest

from tars_jax.data.question_synthesis.chains import Chain, Hop, is_round_trip, walk
from tars_jax.data.question_synthesis.conditions import FactCondition, Statistics, obfuscated
from tars_jax.data.question_synthesis.proof import CHOICE, CONDITION, HOP, not_needed
from tars_jax.data.question_synthesis.searches import Searcher
from tars_jax.data.question_synthesis.wording import describe_entity, fact_question, name_question, question_words
from tars_jax.tasks.browsing.article import Article, Fact
from tars_jax.tasks.browsing.encyclopedia import Encyclopedia
from tars_jax.tasks.browsing.question import BrowsingQuestion


def land(title: str, color: str, size: str, zone: str, area: float, *borders: str) -> Article:
    facts = [Fact("color", "class", color), Fact("size", "class", size), Fact("zone", "class", zone)]
    facts += [Fact("area", "number", area, "km²"), Fact("capital", "entity", f"City {title}")]
    return Article(title, "country", (), (*facts, *(Fact("borders", "entity", each) for each in borders)))


def city(title: str, zone: str) -> Article:
    facts = (Fact("zone", "class", zone), Fact("status", "class", "capital"), Fact("country", "entity", title))
    return Article(f"City {title}", "city", (), facts)


def world(second_zone: str = "east") -> Statistics:
    """P alone is red and big."""
    lands = (
        land("P", "red", "big", "north", 1, "U", "V"), land("Q", "red", "small", "north", 2, "S", "T"),
        land("R", "blue", "big", "south", 3, "S", "T"), land("S", "white", "small", "south", 4),
        land("T", "white", "small", "south", 5), land("U", "white", "small", "east", 6, "P"),
        land("V", "white", "small", second_zone, 7),
    )  # fmt: skip
    cities = [city("P", "north"), city("Q", "west"), *(city(each, "south") for each in "RSTUV")]
    return Statistics(Encyclopedia([*lands, *cities]))


def proof(asked: str, *hops: dict[str, Any], conditions: tuple[FactCondition, ...] = ()) -> dict[str, Any]:
    conditions = conditions or (
        FactCondition("color", "class", value="red"),
        FactCondition("size", "class", value="big"),
    )
    return {
        "kind": "country", "entity": "P", "conditions": [each.to_json() for each in conditions], "hops": list(hops),
        "asked": {"kind": "country", "name": asked},
    }  # fmt: skip


def hop(relation: str, to: str, by: str = "", *conditions: FactCondition) -> dict[str, Any]:
    told = [each.to_json() for each in conditions]
    return {"relation": relation, "by": by, "largest": False, "to": to, "conditions": told}


CAPITAL = hop("capital", "City P")
NEIGHBOR = hop("borders", "U", "area")


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


def test_features_of_all_entities_tell_together_what_is_meant() -> None:
    """Two lands are red (P, Q), and of their neighbors U and V lie in the east, S and T in the south."""
    statistics = world()
    red, east = (FactCondition("color", "class", value="red"),), FactCondition("zone", "class", value="east")
    large = FactCondition("area", "number", 6.5, 8)
    assert Chain("country", (red,)).meant(statistics) == [{"P", "Q"}]
    eastern = Chain("country", (red, (east,)), (Hop("borders"),))
    assert eastern.meant(statistics) == [{"P"}, {"U", "V"}]
    one = Chain("country", (red, (east, large)), (Hop("borders"),))
    assert one.meant(statistics) == [{"P"}, {"V"}] and one.without(2) == eastern
    told = hop("borders", "V", "", large)
    assert not_needed(proof("name", told, conditions=red), statistics) == CONDITION  # V alone is so large
    assert not_needed(proof("name", hop("borders", "V", "", east, large), conditions=red), statistics) == CONDITION


def test_a_page_with_many_links_counts_in_a_proof_though_no_walk_goes_on_from_it() -> None:
    """Both X and Y border a white land; from X, which borders thirteen, nobody is sent on."""
    many = [land(f"N{number}", "white", "small", "east", number) for number in range(13)]
    hubs = [land("X", "red", "big", "north", 50, *(each.title for each in many))]
    hubs.append(land("Y", "red", "small", "north", 60, "N1", "X"))
    statistics = Statistics(Encyclopedia([*many, *hubs]))
    white = (FactCondition("color", "class", value="white"),)
    chain = Chain("country", ((FactCondition("color", "class", value="red"),), white), (Hop("borders"),))
    assert chain.meant(statistics) == [{"X", "Y"}, {each.title for each in many}]
    assert walk("X", 1, random.Random(0), statistics) is None
    assert walk("Y", 1, random.Random(0), statistics) is not None
    # Without the area of N1, X is the largest that is known, and nobody is asked to compare.
    bare = dataclasses.replace(many[1], facts=many[1].facts[:3])
    statistics = Statistics(Encyclopedia([many[0], bare, *many[2:], *hubs]))
    assert Hop("borders", "area", True).ways(statistics)["Y"] == ("X",)
    assert not statistics.links.can_be_looked_up("Y", "borders", "area")


@pytest.mark.parametrize(
    ("asked", "hops", "conditions", "expected"),
    [
        ("name", [CAPITAL], (), False),
        ("country", [CAPITAL], (), True),  # the country of its capital
        ("name", [CAPITAL, hop("country", "P")], (), True),
        ("name", [hop("borders", "U"), hop("borders", "P")], (), True),
        ("borders", [hop("borders", "U")], (), True),  # asks which country U borders, and that is P
        ("name", [hop("borders", "V")], (), False),
        ("name", [], ("capital", "city"), False),
        ("name", [CAPITAL], ("capital", "city"), True),  # a condition already speaks of the capital
        ("capital", [], ("capital", "city"), True),
    ],
)
def test_round_trips(
    asked: str, hops: list[dict[str, Any]], conditions: tuple[str, str] | tuple[()], expected: bool
) -> None:
    north = FactCondition("zone", "class", value="north")
    told = (FactCondition(conditions[0], "entity", value=conditions[1], of=north),) if conditions else ()
    assert is_round_trip(proof(asked, *hops, conditions=told), world()) is expected


def test_a_range_has_one_reading_and_stays_within_what_there_is() -> None:
    """The entity's own value is never at an end of it, so that "10 to 20" with or without its ends holds."""
    statistics = world()
    for value in (100.0, 0.5, 7.0, -40.0, 51393010.0, 0.001, 19.99):
        forms = obfuscated(Fact("area", "number", value, "km²"), random.Random(0), statistics)
        assert len(forms) == 6 and all(each.low < value < each.high for each in forms)
    for name, value, most in (("latitude", -62.0, 90), ("longitude", 170.5, 180), ("forest", 97.3, 100)):
        unit = "%" if name == "forest" else "°"
        forms = obfuscated(Fact(name, "number", value, unit), random.Random(0), statistics)
        assert forms and all(-most <= each.low < value < each.high <= most for each in forms)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (FactCondition("population", "number", 1e6, 2e6), "with 1,000,000 to 2,000,000 inhabitants"),
        (FactCondition("population", "number", 0, 2e6), "with fewer than 2,000,000 inhabitants"),
        (FactCondition("forest", "number", 30, 40, unit="%"), "that is 30 to 40% forest"),
        (FactCondition("latitude", "number", 0, 20, unit="°"), "with a latitude of 0 to 20°"),  # not: of -60
        (FactCondition("density", "number", 8, 9, unit="g/cm³"), "with a density of 8 to 9 g/cm³"),
        (FactCondition("independent since", "year", 1960, 1970), "that became independent in the 1960s"),
        (FactCondition("field", "class", value="language"), "from the field “language”"),
        (
            FactCondition("borders", "entity", value="country", of=FactCondition("continent", "class", value="Asia")),
            "that borders a country in Asia",
        ),
    ],
)
def test_words_of_conditions(condition: FactCondition, words: str) -> None:
    assert condition.words == words


def test_what_is_said_of_another_entity_comes_last() -> None:
    conditions = (
        "that borders a country in Asia", "whose farm products include peas", "with 3 airports",
        "whose farm products include rye", "in Europe",
    )  # fmt: skip
    assert describe_entity("country", conditions) == (
        "a country in Europe with 3 airports whose farm products include peas and rye and that borders a country in "
        "Asia"
    )


def test_letters_tell_entities_of_one_kind_apart() -> None:
    def said(kinds: tuple[str, ...], hops: tuple[tuple[str, str, bool], ...], others: set[str]) -> str:
        told = [[f"with {place} airports"] for place, _ in enumerate(kinds)]
        asked, form = "How large is {}?", "a number, in km²"
        text = question_words(kinds, told, hops, others, asked, form, random.Random(0))
        return text.split(" ", 1)[1].replace("of ", "", 1) if text.startswith("Think") else text.split(" ", 1)[1]

    assert said(("city", "country"), (("country", "", True),), set()) == (
        "a city with 0 airports. That city lies in a country with 1 airports. How large is that country? Answer with a "
        "number, in km²."
    )
    assert said(("country", "country"), (("borders", "area", False),), set()) == (
        "a country A with 0 airports. Of the countries that border country A, the one with the smallest area is a "
        "country B with 1 airports. How large is country B? Answer with a number, in km²."
    )
    assert said(("country",), (), {"country"}).endswith("How large is country A? Answer with a number, in km².")


@pytest.mark.parametrize(
    ("fact", "several", "form"),
    [
        (Fact("coastline", "number", 1.0, "km"), False, "a number, in km"),
        (Fact("forest", "number", 1.0, "%"), False, "a number, in percent"),
        (Fact("latitude", "number", 1.0, "°"), False, "a number, in degrees, negative in the south"),
        (Fact("weight", "number", 1.0), False, "a number"),
        (Fact("discovered in", "year", 1900), False, "a year"),
        (Fact("borders", "entity", "X"), False, "the name of a country"),
        (Fact("borders", "entity", "X"), True, "a list of names"),
        (Fact("nickname", "class", "X"), False, "one name"),
    ],
)
def test_the_form_of_an_answer_is_its_unit_or_what_it_names(fact: Fact, several: bool, form: str) -> None:
    assert fact_question(fact, several, random.Random(0))[1] == form
    assert name_question("element", random.Random(0))[1] == "the name of an element"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Which place has one two three four five six?", False),
        ("Which place has one two, is said to be gold silver, and has three four five six?", True),  # a clause
        ("Which place of gold has one two three four and five six with silver?", True),  # two rare words
        ("Which place, the “gold silver” one, has one two three four five six?", True),  # what is quoted
    ],
)
def test_a_page_that_any_part_of_a_question_finds_is_found(text: str, found: bool) -> None:
    """The Target alone has gold and silver; of the other words it has none, and many pages have them all."""
    many = [Article(f"Many{n}", "thing", ("which place has one two three four five six",)) for n in range(30)]
    metals = [Article(f"{metal}{n}", "thing", (f"{metal} " * 9,)) for metal in ("gold", "silver") for n in range(20)]
    encyclopedia = Encyclopedia([*many, *metals, Article("Target", "thing", ("gold, silver, " + "filler " * 40,))])
    searcher = Searcher(encyclopedia)
    assert "Target" not in encyclopedia.full_text(text)
    assert (searcher.finds(BrowsingQuestion("q", text, ("Target",), "small", plan=("Target",))) is not None) is found
    # So is what stands on another page of the proof, and what the site shows of any page.
    asked = BrowsingQuestion("q", text, ("filler",), "small", plan=("Target", "Many1"))
    assert searcher.finds(asked) is not None
    assert searcher.finds(BrowsingQuestion("q", "Which gold?", ("silver",), "small", plan=("Many1",))) is None
