"""A model in another process as closed-book solver and scorer of conditions: its words count, its failures do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tars_jax import GaveUp
from tars_jax.data.config import QuestionSynthesisConfig
from tars_jax.data.question_synthesis.conditions import Statistics
from tars_jax.data.question_synthesis.endpoint import EndpointDistinctiveness, EndpointSolver
from tars_jax.data.question_synthesis.filters import EitherSolver, FrequentAnswers, filters
from tars_jax.data.question_synthesis.synthesis import UNREADABLE, Synthesized, synthesize
from tars_jax.judges import JudgeUnavailable, UnreadableVerdict
from tars_jax.judges.endpoint import EndpointModel
from tars_jax.tasks.browsing.question import BrowsingQuestion
from tests.data.test_question_synthesis import source
from tests.judges.answering_server import answering

pytestmark = pytest.mark.multiprocess
FRANCE = BrowsingQuestion("q", "What is the capital of France?", ("the city of Paris",), "small")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with answering() as found:
        yield found


def model(address: str, name: str = "good", patience: float = 10.0) -> EndpointModel:
    return EndpointModel(address, name, patience=patience)


def test_what_a_model_knows_by_heart_is_turned_down(address: str) -> None:
    solver = EndpointSolver(model(address), tries=2)
    assert solver.answers(FRANCE) == ["Paris", "Paris"]
    assert solver.answers(BrowsingQuestion("q", "What is the capital of Belonia?", ("Bul",), "small")) == []
    encyclopedia = source()
    either = EitherSolver((FrequentAnswers(encyclopedia), solver))
    known = filters(encyclopedia, Statistics(encyclopedia), either)["known without looking"]
    asked = {"asked": {"kind": "city", "name": "name"}}
    assert known(BrowsingQuestion("q", FRANCE.text, ("Paris",), "small", proof=asked))
    assert not known(BrowsingQuestion("q", FRANCE.text, ("Lyon",), "small", proof=asked))


def drawn(address: str, name: str, tries: int = 8, **changes: Any) -> Synthesized:
    encyclopedia = source()
    scored = EndpointDistinctiveness(model(address, name, **changes))
    wanted = QuestionSynthesisConfig(3, most_hops=0, tries=tries)
    return synthesize(
        encyclopedia, "small", None, FrequentAnswers(encyclopedia), wanted, 1,
        reveals=lambda kind, words: scored.score(kind, words) >= 4,
    )  # fmt: skip


def test_conditions_that_reveal_to_a_model_are_dropped(address: str) -> None:
    found = drawn(address, "good")
    assert len(found.questions) == 3 and found.dropped["revealing to a model"] > 0
    names = {condition["name"] for question in found.questions for condition in question.proof["conditions"]}
    assert names and "capital" not in names


@pytest.mark.parametrize("name", ["nonsense", "refusing"])
def test_an_unreadable_answer_makes_no_question(address: str, name: str) -> None:
    with pytest.raises(UnreadableVerdict, match="a solver's last line must be ANSWER:"):
        EndpointSolver(model(address, name), tries=1).answers(FRANCE)
    with pytest.raises(GaveUp, match="3 questions were asked for; 0 came of 3 tries"):
        drawn(address, name, 1)


@pytest.mark.parametrize("name", ["failing", "slow", "declining"])
def test_a_model_that_is_away_ends_the_run(address: str, name: str) -> None:
    with pytest.raises(JudgeUnavailable):
        EndpointSolver(model(address, name, 0.2), tries=1).answers(FRANCE)
    with pytest.raises(GaveUp, match="The model that is asked about questions has not answered"):
        drawn(address, name, patience=0.2)


def test_one_unreadable_answer_of_many_is_counted() -> None:
    class Sometimes:
        asked = 0

        def answers(self, question: BrowsingQuestion) -> Sequence[str]:
            self.asked += 1
            if self.asked == 1:
                raise UnreadableVerdict("once")
            return ()

    encyclopedia = source()
    found = synthesize(encyclopedia, "small", None, Sometimes(), QuestionSynthesisConfig(3), 1)
    assert found.rejected[UNREADABLE] == 1 and found.tries == 3 + sum(found.rejected.values())
