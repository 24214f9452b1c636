"""Questions have one answer over the whole source, and the filters turn down what they are to."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tars_jax import GaveUp
from tars_jax.data.question_synthesis.chains import are_proved
from tars_jax.data.question_synthesis.conditions import Condition, Statistics
from tars_jax.data.question_synthesis.filters import FrequentAnswers, filters
from tars_jax.data.question_synthesis.obfuscation import is_proved
from tars_jax.data.question_synthesis.synthesis import SynthesisConfig, Synthesized, synthesize
from tars_jax.tasks.browsing.article import Article, Fact
from tars_jax.tasks.browsing.encyclopedia import Encyclopedia
from tars_jax.tasks.browsing.question import Question


def source() -> Encyclopedia:
    """Sixty countries in three continents, with a capital each."""
    articles = []
    for number in range(60):
        facts = (
            Fact("continent", "class", ("Asia", "Africa", "Europe")[number % 3]),
            Fact("capital", "entity", f"City{number}"),
            Fact("population", "number", float(1000 + 137 * (number * 17 % 60))),
            Fact("area", "number", float(10 + 31 * (number * 23 % 60)), "km²"),
            Fact("coastline", "number", float(5 + 7 * (number * 29 % 60)), "km"),
            Fact("independent since", "year", 1800 + number * 7 % 60),
        )
        articles.append(Article(f"Land{number}", "country", (f"Land{number} is a country.",), facts))
        city = (Fact("country", "entity", f"Land{number}"), Fact("height", "number", float(number * 3 + 1), "m"))
        articles.append(Article(f"City{number}", "city", (f"City{number} is a city.",), city))
    return Encyclopedia(articles)


def made(encyclopedia: Encyclopedia, **changes: Any) -> Synthesized:
    solver = FrequentAnswers(encyclopedia)
    return synthesize(encyclopedia, "small", None, solver, SynthesisConfig(20, **changes), seed=1)


def test_every_question_is_proved_over_the_source_and_the_same_by_its_seed() -> None:
    encyclopedia = source()
    found = made(encyclopedia)
    assert found == made(source()) and len({question.text for question in found.questions}) == 20
    assert {question.kind for question in found.questions} == {"conditions", "chain"}
    assert found.tries == 20 + sum(found.rejected.values())
    for question in found.questions:
        conditions = [Condition.from_json(each) for each in question.proof["conditions"]]
        # By brute force, without the index.
        matching = [
            each.title
            for each in encyclopedia.of_kind(question.proof["kind"])
            if all(condition.holds(each, encyclopedia) for condition in conditions)
        ]
        assert matching == [question.proof["entity"]] and question.proof["counts"][-1] == 1
        assert min(question.proof["without"]) > 1
        start = encyclopedia.articles[question.proof["entity"]]
        assert are_proved(start, question.proof["hops"], Statistics(encyclopedia))
        assert Question.from_json(question.to_json()) == question


def test_a_proof_that_does_not_hold_is_told() -> None:
    encyclopedia = source()
    proof = dict(made(encyclopedia, chains=0).questions[0].proof)
    assert is_proved(proof, Statistics(encyclopedia))
    more = [*encyclopedia.articles.values()]
    more.append(dataclasses.replace(encyclopedia.articles[proof["entity"]], title="Twin"))
    assert not is_proved(proof, Statistics(Encyclopedia(more)))
    assert not is_proved({**proof, "counts": [*proof["counts"][:-1], 2]}, Statistics(encyclopedia))


def test_filters_turn_down_what_they_name() -> None:
    encyclopedia = source()
    question = made(encyclopedia, chains=0).questions[0]

    def reason(changed: Question) -> str | None:
        checks = filters(encyclopedia, Statistics(encyclopedia), FrequentAnswers(encyclopedia, frozenset({"Known"})))
        return next((name for name, wrong in checks.items() if wrong(changed)), None)

    assert reason(question) is None
    entity = question.proof["entity"]
    assert reason(dataclasses.replace(question, text=f"Is it {entity}?")) == "names its answer"
    assert reason(dataclasses.replace(question, answers=("Known",))) == "known without looking"
    plan = (encyclopedia.full_text(question.text)[0],)
    assert reason(dataclasses.replace(question, plan=plan)) == "found by one search"
    proof = {**question.proof, "conditions": question.proof["conditions"][:1]}
    assert reason(dataclasses.replace(question, proof=proof)) == "not proved unique"


def test_a_source_without_such_questions_is_given_up() -> None:
    alike = [
        Article(f"A{n}", "thing", (), (Fact("color", "class", "red"), Fact("size", "number", 1.0))) for n in range(9)
    ]
    with pytest.raises(GaveUp, match="20 questions were asked for; 0 came of"):
        made(Encyclopedia(alike))
