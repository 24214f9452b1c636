"""A model in another process words questions: what it writes is taken if it passes, else the template stays."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tars_jax import GaveUp, InputError
from tars_jax.data.config import QuestionSynthesisConfig
from tars_jax.data.question_synthesis.conditions import Statistics
from tars_jax.data.question_synthesis.filters import FrequentAnswers, text_filters
from tars_jax.data.question_synthesis.formal_statements import read_chain
from tars_jax.data.question_synthesis.proof import is_proved
from tars_jax.data.question_synthesis.rewriting import (
    DECLINED,
    NOT_READ_BACK,
    NOT_SOLVED,
    TOO_FEW,
    TOO_MANY,
    UNREADABLE,
    WRITTEN,
    EndpointRewriter,
)
from tars_jax.data.question_synthesis.synthesis import synthesize
from tars_jax.judges import JudgeUnavailable
from tars_jax.judges.endpoint import EndpointModel
from tars_jax.tasks.browsing.question import BrowsingQuestion
from tests.data.test_question_synthesis import source
from tests.judges.answering_server import answering

pytestmark = pytest.mark.multiprocess
ENCYCLOPEDIA = source()
STATISTICS = Statistics(ENCYCLOPEDIA)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with answering(str(Path(__file__).parent / "wording_server.py")) as found:
        yield found


@pytest.fixture(scope="module")
def questions() -> Sequence[BrowsingQuestion]:
    """In the words of the templates."""
    solver = FrequentAnswers(ENCYCLOPEDIA)
    return synthesize(ENCYCLOPEDIA, "small", None, solver, QuestionSynthesisConfig(10, chains=0.7), 3).questions


def writer(address: str, name: str, patience: float = 10.0) -> EndpointRewriter:
    return EndpointRewriter(EndpointModel(address, name, patience=patience), STATISTICS)


def test_a_model_words_all_conditions_and_is_read_back(address: str) -> None:
    good = writer(address, "good")
    solver = FrequentAnswers(ENCYCLOPEDIA)
    found = synthesize(ENCYCLOPEDIA, "small", None, solver, QuestionSynthesisConfig(10, chains=0.7), 3, writer=good)
    worded = [each for each in found.questions if each.proof.get("worded_by") == "good"]
    assert len(worded) > 5 and good.counts[WRITTEN] >= len(worded)
    for question in worded:
        assert question.text.startswith("A is a ")  # as that server puts it
        assert question.text.endswith(f" Answer with {question.proof['asked']['form']}.")
        assert is_proved(question.proof, STATISTICS)
        assert not any(wrong(question) for wrong in text_filters(ENCYCLOPEDIA).values())
    assert any(question.proof["hops"] for question in worded)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("forgetful", TOO_FEW),
        ("inventing", TOO_MANY),
        ("gossiping", "names its answer"),
        ("twisting", NOT_SOLVED),
        ("blind", NOT_READ_BACK),
        ("nonsense", UNREADABLE),
        ("refusing", UNREADABLE),
        ("declining", DECLINED),
    ],
)
def test_what_does_not_pass_is_counted_and_the_template_stays(
    address: str, questions: Sequence[BrowsingQuestion], name: str, reason: str
) -> None:
    asked = questions[0]
    if name == "gossiping":
        asked = dataclasses.replace(asked, answers=("Land1",))
    if name == "twisting":  # says "area" for "population"
        told = ({condition["name"] for condition in each.proof["conditions"]} for each in questions)
        asked = next(each for each, names in zip(questions, told, strict=True) if names & {"area", "population"})
    refused = writer(address, name)
    assert refused.reworded(asked, text_filters(ENCYCLOPEDIA)) is asked
    assert refused.counts == {WRITTEN: 0, reason: 1}


@pytest.mark.parametrize("name", ["failing", "slow"])
def test_a_model_that_is_away_ends_the_run(address: str, questions: Sequence[BrowsingQuestion], name: str) -> None:
    away = writer(address, name, 0.2)
    with pytest.raises(JudgeUnavailable):
        away.reworded(questions[0], {})
    with pytest.raises(GaveUp, match="The model that is asked about questions has not answered"):
        wanted = QuestionSynthesisConfig(3, tries=200)
        synthesize(ENCYCLOPEDIA, "small", None, FrequentAnswers(ENCYCLOPEDIA), wanted, 3, writer=away)


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"kind": "country", "conditions": [], "hops": [{"relation": "owns", "conditions": []}], "asked": "name"},
        {"kind": "country", "conditions": [{"name": "area"}], "hops": [], "asked": "name"},
        {"kind": "country", "conditions": [{"name": "area", "low": "a", "high": 1}], "hops": [], "asked": "name"},
        {"kind": ["country"], "conditions": [], "hops": [], "asked": "name"},
        [],
    ],
)
def test_a_reading_in_another_form_is_refused(record: object) -> None:
    with pytest.raises(InputError, match="a reading must be"):
        read_chain(record)
