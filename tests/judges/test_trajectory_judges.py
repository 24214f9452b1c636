"""Judges of whole trajectories: what they see, what they keep, how they vote; the embedded rules throughout."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.environment import CannotSay, Task
from tars_jax.judges import Judge, Judgement, JudgeUnavailable, UnreadableVerdict, load_judge
from tars_jax.judges.evidence import Evidence, KeptObservation, Scored, evidence_of
from tars_jax.judges.rule_model import RuleModel
from tars_jax.judges.votes import Votes
from tars_jax.judges.webjudge import WebJudge
from tars_jax.trajectory import Trajectory
from tests.judges.episodes import episode, task

CART = "Put 2 'blue pens' into the 'cart'"
BOUGHT = episode([("shop: blue pens", "click(start_box='(1,1)')")], "your cart: 2 blue pens", instruction=CART)


def said(judge: Any, trajectory: Trajectory = BOUGHT, about: Task | None = None) -> Judgement:
    return asyncio.run(judge(trajectory, about or task()))


def test_what_the_agent_says_is_no_evidence() -> None:
    actions = [("a page", "click(start_box='(1,1)')"), ("", "finished(content='2 blue pens are in the cart')")]
    evidence = evidence_of(episode(actions, thought="I have blue pens in the cart"), task(CART))
    assert evidence.actions == ("click(start_box='(1,1)')", "finished()") and evidence.claim is None
    assert evidence.numbered_actions == "1. click(start_box='(1,1)')\n2. finished()"
    assert "pens" not in repr(evidence.actions) + repr(evidence.observations)
    assert evidence_of(episode(actions), task(), with_claim=True).claim == "2 blue pens are in the cart"
    theirs = [("", "click('12')\nsend_msg_to_user('Two pens\nin the cart')"), ("", "stop [pens]"), ("", "")]
    assert evidence_of(episode(theirs), task()).actions == (
        "click('12')\nfinished()", "finished()", "(an answer that is no action)",
    )  # fmt: skip
    with pytest.raises(CannotSay, match="the page says nothing of it"):
        said(WebJudge(), episode(actions, thought="your cart: 2 blue pens", instruction=CART))


@pytest.mark.parametrize(
    ("action", "believed"),
    [
        ("# 2 blue pens are in the cart\nclick('12')  # it worked\nwait()", "click('12')\nwait()"),
        ("click('12'); send_msg_to_user('2 blue pens')", "click('12')\nfinished()"),
        ("  STOP [2 blue pens]", "finished()"),
        ("# 2 blue pens", "(an answer that is no action)"),
        ("fill('3', 'a # b; done(1)')", "fill('3', 'a # b; done(1)')"),
        ("type(content='it\\'s # 1')", "type(content='it\\'s # 1')"),
        ("goto('shop/#done(1)')\ngoto(shop/#cart)", "goto('shop/#done(1)')\ngoto(shop/#cart)"),
        ("click('1')\ntype [4] [user's cart]", "click('1')\ntype [4] [user's cart]"),
    ],
)
def test_nor_what_it_says_beside_its_actions(action: str, believed: str) -> None:
    assert evidence_of(episode([("", action)]), task()).actions == (believed,)


def test_the_embedded_judge_tells_from_the_text_that_was_seen() -> None:
    assert said(WebJudge()) == (1.0, True)
    # One requirement of two: 1 + round(4 / 2) = 3.
    model, evidence = RuleModel(), evidence_of(BOUGHT, task())
    points = asyncio.run(model.key_points(f"{CART} and open the 'letter'"))
    assert points == [CART, "open the 'letter'"]
    scores = [asyncio.run(model.score(evidence, points, number)) for number in (1, 2)]
    assert scores == [Scored(1, ""), Scored(3, CART)]
    # The pens are seen in the shop alone: what the last page says counts.
    apart = episode([("shop: blue pens", "wait()"), ("", "wait()")], "your cart is open", instruction=CART)
    with pytest.raises(CannotSay, match="the page says nothing of it"):
        said(WebJudge(), apart)
    assert said(WebJudge(), episode([], instruction=CART)) == (0.0, False)


class Scripted:
    """A model that scores as it is told and remembers what it was shown."""

    def __init__(self, scores: Sequence[int]) -> None:
        self.scores, self.kept = scores, list[KeptObservation]()

    async def key_points(self, instruction: str) -> Sequence[str]:
        return ["a"]

    async def score(self, evidence: Evidence, points: Sequence[str], number: int) -> Scored:
        return Scored(self.scores[number - 1], f"r{number}")

    async def verdict(self, evidence: Evidence, points: Sequence[str], kept: Sequence[KeptObservation]) -> bool:
        self.kept = list(kept)
        return True


@pytest.mark.parametrize(
    ("scores", "most", "kept"),
    [([1, 3, 2, 5, 4], 50, [2, 4, 5]), ([3, 5, 3, 3], 2, [2, 4]), ([1, 2], 50, []), ([5] * 60, 50, range(11, 61))],
)
def test_observations_are_kept_by_their_score_in_order(scores: list[int], most: int, kept: Sequence[int]) -> None:
    judge = WebJudge(most_observations=most)
    judge._model = model = Scripted(scores)  # type: ignore[assignment]
    assert said(judge, episode([(f"o{number}", "wait()") for number in range(len(scores))])).success
    assert [each.number for each in model.kept] == list(kept)
    assert all(
        each.reason == f"r{each.number}" and each.observation.text == f"o{each.number - 1}" for each in model.kept
    )


def test_facts_of_a_rubric() -> None:
    facts = task(reference="your cart: 2 blue pens\n\n2 blue pens are in the cart\n")
    rubric, partial = load_judge("rubric"), load_judge("rubric", {"partial": True})
    assert said(rubric.function, about=facts) == (1.0, True)
    half = task(reference="your cart: 2 blue pens\nyour cart: 3 blue pens")
    assert said(rubric.function, about=half) == (0.0, False)
    assert said(partial.function, about=half) == (0.5, False)
    assert said(load_judge("rubric", {"facts": ["the cart: 1 blue pens"]}).function) == (0.0, False)
    with pytest.raises(InputError, match="verification.reference of task t must hold facts, one a line; got none"):
        said(rubric.function)


def judge_that(answer: Any) -> Judge:
    def function(trajectory: Trajectory, about: Task) -> Judgement:
        if isinstance(answer, Exception):
            raise answer
        return Judgement(float(bool(answer)), answer)

    return Judge("made", function, attempts=1)


AWAY, UNREADABLE, BLIND = JudgeUnavailable("away"), UnreadableVerdict("?"), CannotSay("a picture")


@pytest.mark.parametrize(
    ("votes", "rule", "success"),
    [
        ([True, True, True], "unanimous", True),
        ([True, False, True], "unanimous", False),
        ([True, False, True], "majority", True),
        ([False, True, False], "majority", False),
        ([True, False], "majority", False),  # a tie is no majority
        ([AWAY, False, True], "unanimous", False),  # one no decides, whatever the others would have said
        ([True, AWAY, True], "majority", True),
        ([True, AWAY, True], "unanimous", JudgeUnavailable),
        ([UNREADABLE, AWAY, False], "majority", JudgeUnavailable),
        ([UNREADABLE, BLIND, False], "majority", UnreadableVerdict),
        ([BLIND, False, True], "unanimous", False),
        ([True, BLIND, True], "majority", True),
        ([True, BLIND, True], "unanimous", CannotSay),
    ],
)
def test_votes(votes: list[Any], rule: str, success: bool | type[Exception]) -> None:
    judge = Votes([judge_that(vote) for vote in votes], rule)
    if isinstance(success, type):
        with pytest.raises(success, match=r"of 3 votes gave no verdict, which decide"):
            said(judge)
    else:
        assert said(judge) == (float(success), success)


def test_judges_by_name_and_options() -> None:
    web = {"judge": "webjudge", "votes": 2}
    rubric = {"judge": "rubric", "options": {"facts": ["your cart: 2 blue pens"]}}
    votes = load_judge("votes", {"judges": [web, rubric]})
    assert said(votes.function) == (1.0, True) and votes.time_limit == 600
    endpoint = {"address": "http://127.0.0.1:1", "model": "m", "seed": 4}
    seeded = load_judge("votes", {"judges": [{**web, "options": {"endpoint": endpoint}}]})
    assert [each.function._model.seed for each in seeded.function._judges] == [4, 5]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("webjudge", {"treshold": 3}, "options of judge 'webjudge' must be endpoint, threshold, .*treshold"),
        ("webjudge", {"threshold": 6}, "threshold must be a whole number from 1 to 5; got 6"),
        ("webjudge", {"endpoint": {"adress": "x"}}, "option endpoint must have address, model, .*adress"),
        ("webjudge", {"endpoint": {"address": "http://x", "seed": "1"}}, "endpoint.seed must be of type int; got '1'"),
        ("webjudge", {"endpoint": {"address": "http://x", "prompt": "odd"}}, "prompt must be one of plain, strict"),
        ("rubric", {"facts": "one"}, "facts must be a list of sentences; got 'one'"),
        ("votes", {"judges": [{"judge": "webjudge"}]}, "must make two votes or more; got 1"),
        ("votes", {"judges": [{"judge": "votes"}]}, r"judges\[0\] must name a judge that is not votes itself"),
        ("votes", {"judges": [{"judge": "webjudge", "vote": 2}]}, "must have judge, options and votes; got 'vote'"),
        ("votes", {"judges": [{"judge": "webjudge", "votes": 2}], "rule": "any"}, "rule must be one of unanimous"),
        ("reference", {"a": 1}, "judge 'reference' must be a class to have options; got a"),
    ],
)
def test_options_that_no_judge_has(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        load_judge(name, options)


def test_the_kind_of_a_failure_survives_the_attempts() -> None:
    judge = dataclasses.replace(judge_that(UNREADABLE), attempts=2, pause=0.0)
    with pytest.raises(UnreadableVerdict, match="judge made raised UnreadableVerdict: .*, the last of 2 times"):
        asyncio.run(judge.judgement(BOUGHT, task()))
    with pytest.raises(JudgeUnavailable, match="raised OSError: gone"):
        asyncio.run(judge_that(OSError("gone")).judgement(BOUGHT, task()))
