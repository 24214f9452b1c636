"""Questions have one answer over the whole source, and the filters turn down what they are to."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock

import pytest

from tars_jax import GaveUp
from tars_jax.data.config import QuestionSynthesisConfig
from tars_jax.data.question_synthesis import spoken_answers, synthesis
from tars_jax.data.question_synthesis.conditions import FactCondition, Statistics
from tars_jax.data.question_synthesis.filters import UNTOLD, FrequentAnswers, filters
from tars_jax.data.question_synthesis.proof import is_proved
from tars_jax.data.question_synthesis.spoken_answers import is_untold, right_answers
from tars_jax.data.question_synthesis.synthesis import Synthesized, synthesize
from tars_jax.environment import CannotSay
from tars_jax.tasks.browsing.article import Article, Fact
from tars_jax.tasks.browsing.encyclopedia import Encyclopedia
from tars_jax.tasks.browsing.question import BrowsingQuestion


def source() -> Encyclopedia:
    """Sixty countries in a ring on three continents, with a capital each."""
    articles = []
    for number in range(60):
        beside = [f"Land{(number + step) % 60}" for step in (-7, -1, 1, 7)]
        facts = (
            Fact("continent", "class", ("Asia", "Africa", "Europe")[number % 3]),
            Fact("capital", "entity", f"City{number}"),
            Fact("population", "number", float(1000 + 137 * (number * 17 % 60))),
            Fact("area", "number", float(10 + 31 * (number * 23 % 60)), "km²"),
            Fact("coastline", "number", float(5 + 7 * (number * 29 % 60)), "km"),
            Fact("independent since", "year", 1800 + number * 7 % 60),
            *(Fact("borders", "entity", each) for each in beside),
        )
        articles.append(Article(f"Land{number}", "country", (f"Land{number} is a country.",), facts))
        city = (Fact("country", "entity", f"Land{number}"), Fact("height", "number", float(number * 3 + 1), "m"))
        articles.append(Article(f"City{number}", "city", (f"City{number} is a city.",), city))
    return Encyclopedia(articles)


def drawn(encyclopedia: Encyclopedia, **changes: Any) -> Synthesized:
    solver = FrequentAnswers(encyclopedia)
    return synthesize(encyclopedia, "small", None, solver, QuestionSynthesisConfig(20, **changes), seed=1)


@functools.cache
def made(chains: float) -> Synthesized:
    """Of the small source, drawn once for all tests."""
    return drawn(source(), chains=chains)


def ways(proof: Mapping[str, Any], encyclopedia: Encyclopedia, left_out: int = -1) -> Iterator[list[str]]:
    """By brute force, without an index: all titles that the entities can have, a condition left out or none."""
    conditions = [proof["conditions"], *(hop["conditions"] for hop in proof["hops"])]
    numbers = itertools.count()
    told = [[FactCondition.from_json(each) for each in some if next(numbers) != left_out] for some in conditions]

    def fits(title: str, place: int) -> bool:
        return all(each.holds(encyclopedia.articles[title], encyclopedia) for each in told[place])

    def further(titles: list[str]) -> Iterator[list[str]]:
        if len(titles) == len(told):
            yield titles
            return
        hop = proof["hops"][len(titles) - 1]
        relation = hop["relation"].replace("cities", "capital")  # each has one
        linked = [str(each) for each in encyclopedia.articles[titles[-1]].values(relation)]
        if hop["by"]:
            value = {title: float(encyclopedia.articles[title].values(hop["by"])[0]) for title in linked}
            most = (max if hop["largest"] else min)(value.values())
            linked = [title for title in linked if value[title] == most]
        for title in linked:
            if fits(title, len(titles)):
                yield from further([*titles, title])

    for article in encyclopedia.of_kind(proof["kind"]):
        if fits(article.title, 0):
            yield from further([article.title])


def answers(titles: set[str], asked: str, encyclopedia: Encyclopedia) -> set[object]:
    return {title if asked == "name" else encyclopedia.articles[title].values(asked) for title in titles}


def test_every_question_is_proved_over_the_source_and_the_same_by_its_seed() -> None:
    encyclopedia = source()
    found = made(0.8)
    assert found == drawn(encyclopedia, chains=0.8) and len({question.text for question in found.questions}) == 20
    assert {len(question.proof["hops"]) for question in found.questions} >= {0, 1, 2}
    assert found.tries == 20 + sum(found.rejected.values())
    for question in found.questions:
        proof = json.loads(json.dumps(question.proof))
        titles = [proof["entity"], *(hop["to"] for hop in proof["hops"])]
        every = list(ways(proof, encyclopedia))
        assert titles in every and {way[-1] for way in every} == {titles[-1]} and list(question.plan) == titles
        # Each entity is told by features of its own, and each of these is needed.
        assert proof["conditions"] and all(hop["conditions"] for hop in proof["hops"])
        for place in range(len(proof["without"])):
            last = {way[-1] for way in ways(proof, encyclopedia, place)}
            others = answers(last, proof["asked"]["name"], encyclopedia)
            assert len(others) == proof["without"][place] > 1
        assert len(set(titles)) == len(titles) and not set(question.answers) & set(titles[:-1])
        assert is_proved(proof, Statistics(encyclopedia))
        assert BrowsingQuestion.from_json(question.to_json()) == question


def test_every_question_says_the_form_of_its_answer() -> None:
    """As long as the reference has a unit, it is the one that is asked for."""
    for question in made(0.8).questions:
        form = question.proof["asked"]["form"]
        assert question.text.endswith(f"? Answer with {form}.")
        if number := re.fullmatch(r"[\d,.]+ (\S+)", question.answers[0]):
            assert form == f"a number, in {number[1]}"
        elif re.fullmatch(r"\d{4}", question.answers[0]):
            assert form in ("a year", "a number of inhabitants")
        elif re.fullmatch(r"(?:Land|City)\d+", question.answers[0]):
            assert form == f"the name of a {'country' if question.reference.startswith('Land') else 'city'}"


def test_a_proof_that_does_not_hold_is_told() -> None:
    encyclopedia = source()
    proof = dict(made(0).questions[0].proof)
    assert is_proved(proof, Statistics(encyclopedia))
    more = [*encyclopedia.articles.values()]
    more.append(dataclasses.replace(encyclopedia.articles[proof["entity"]], title="Twin"))
    assert not is_proved(proof, Statistics(Encyclopedia(more)))
    assert not is_proved({**proof, "counts": [*proof["counts"][:-1], 2]}, Statistics(encyclopedia))
    assert not is_proved({**proof, "entity": "Nowhere"}, Statistics(encyclopedia))


def test_filters_turn_down_what_they_name() -> None:
    encyclopedia = source()
    question = made(0).questions[0]

    def reason(changed: BrowsingQuestion, known: Encyclopedia = encyclopedia) -> str | None:
        checks = filters(known, Statistics(known), FrequentAnswers(known, frozenset({"Known"})))
        return next((name for name, wrong in checks.items() if wrong(changed)), None)

    assert reason(question) is None
    entity = question.proof["entity"]
    assert reason(dataclasses.replace(question, text=f"Is it {entity}?")) == "names its answer"
    assert reason(dataclasses.replace(question, answers=("Known",))) == "known without looking"
    plan = (encyclopedia.full_text(question.text)[0],)
    assert reason(dataclasses.replace(question, plan=plan)) == "found by one search"
    proof = {**question.proof, "conditions": question.proof["conditions"][:1]}
    assert reason(dataclasses.replace(question, proof=proof)) == "not proved unique"


def test_what_no_links_lead_to_is_turned_down() -> None:
    """The same articles, of which the home page does not name the entity's; all that linked to it are others."""
    encyclopedia = source()
    question = next(each for each in made(0).questions if each.proof["kind"] == "country")
    entity = question.plan[0]
    capital = str(encyclopedia.articles[entity].values("capital")[0])

    def without_links(article: Article) -> Article:
        kept = (fact for fact in article.facts if fact.value not in (entity, capital) or article.title == entity)
        return dataclasses.replace(article, facts=tuple(kept))

    apart = [without_links(each) for each in encyclopedia.articles.values()]
    first = [each for each in apart if each.title not in (entity, capital)]
    last = [each for each in apart if each.title in (entity, capital)]
    for number, alone in enumerate((False, True)):
        known = Encyclopedia([*first, *last] if alone else encyclopedia.articles.values())
        checks = filters(known, Statistics(known), FrequentAnswers(known))
        assert checks["no links lead there"](question) is bool(number)


def test_a_source_without_such_questions_is_given_up() -> None:
    alike = [
        Article(f"A{n}", "thing", (), (Fact("color", "class", "red"), Fact("size", "number", 1.0))) for n in range(9)
    ]
    with pytest.raises(GaveUp, match="20 questions were asked for; 0 came of"):
        drawn(Encyclopedia(alike))


def test_a_question_whose_answers_its_judge_cannot_tell_is_turned_down() -> None:
    """By a fifth of the right forms of speech, refused or not understood, however many wrong answers it can tell; by
    the answer alone; by one wrong answer that is taken. Counted by that reason."""
    encyclopedia = source()
    question = made(0).questions[0]
    assert not is_untold(question, encyclopedia)
    with mock.patch.object(spoken_answers, "says_the_same") as says:
        right, wrong = list(right_answers(question)), list(spoken_answers.wrong_answers(question, encyclopedia))
        for missed, untold in ((right[9:], False), (right[8:], True), (right[:1], True), (wrong[:1], True)):
            for is_refused in (False, True):

                def said(answer: str, *_: str, missed: list[str] = missed, is_refused: bool = is_refused) -> bool:
                    if answer in missed and answer in right and not is_refused:
                        raise CannotSay("it has to be known")
                    return (answer in right) != (answer in missed)

                says.side_effect = said
                assert is_untold(question, encyclopedia) is untold
    with mock.patch.object(synthesis, "is_untold", side_effect=itertools.chain([True], itertools.repeat(False))):
        found = drawn(encyclopedia, chains=0)
    assert found.rejected[UNTOLD] == 1 and len(found.questions) == 20
