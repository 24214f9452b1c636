"""The embedded judges on episodes labelled by hand (`trajectory_cases.py`): precision goes before recall."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses

import pytest

from tars_jax.judges.judge import CannotSay, Judgement
from tars_jax.judges.requirements import clauses_of
from tars_jax.judges.rubric import RubricJudge
from tars_jax.judges.statements import Standing, statements_of
from tars_jax.judges.webjudge import WebJudge
from tests.judges.episodes import episode, task
from tests.judges.trajectory_cases import CASES, FAILURES, SUCCESSES, Case

JUDGES: dict[str, WebJudge | RubricJudge] = {"webjudge": WebJudge(), "rubric": RubricJudge()}


def judged(judge: str, case: Case) -> Judgement:
    played = episode(case.steps, case.final, instruction=case.instruction)
    return asyncio.run(JUDGES[judge](played, task(case.instruction, case.facts)))


def named(cases: list[Case]) -> list[object]:
    return [pytest.param(case, id=f"{case.domain}: {case.kind}") for case in cases]


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("case", named(SUCCESSES))
def test_a_plain_success_is_taken(judge: str, case: Case) -> None:
    assert judged(judge, case) == (1.0, True)


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("case", named(FAILURES))
def test_a_failure_is_refused_or_nobody_says(judge: str, case: Case) -> None:
    try:
        assert judged(judge, case) == (0.0, False)
    except CannotSay as verdict:
        assert str(verdict).startswith("rules cannot tell: ")


def test_the_cases_are_of_many_domains_and_many_failures_have_a_verdict() -> None:
    """CannotSay is for what speaks for success: a judge that always said so would pass the test above."""
    assert len(SUCCESSES) >= 12 and len(FAILURES) >= 12 and len({case.domain for case in CASES}) >= 7
    refused = 0
    for case in FAILURES:
        with contextlib.suppress(CannotSay):
            refused += judged("webjudge", case).success is False
    assert refused >= len(FAILURES) // 3


PENS = "Put 2 'blue pens' into the 'cart'"


@pytest.mark.parametrize(
    ("steps", "final", "reason"),
    [
        ([("Shop", "wait()"), ("Your cart: 2 blue pens", "wait()")], "Your cart: 1 mug", "an earlier page showed it"),
        ([("Shop", "click(start_box='(1,1)')")], "> 2 blue pens in the cart", "somebody says so"),
        ([("Shop", "fill('3', '2 blue pens cart')")], "cart - 2 blue pens", "the agent typed it"),
        ([("Your cart: 2 blue pens", "wait()")], "Your cart: 2 blue pens", "it was so at the start"),
        ([("Shop", "click('1')"), ("cart: 2 blue pens", "click('2')")], "", "nobody saw what the last action did"),
        ([("Shop", "click('1')")], "cart: 2 blue pens\nAn error occurred", "the page says that something failed"),
        (
            [("Shop", "click('1')"), ("1 red mug was added to the cart.", "click('2')")],
            "Your cart: 2 blue pens",
            "something else was done, too",
        ),
        ([("Shop", "click('1')")], "blue pens added", "the page confirms something, and does not name all of it"),
    ],
)
def test_why_rules_cannot_tell(steps: list[tuple[str, str]], final: str, reason: str) -> None:
    with pytest.raises(CannotSay, match=reason):
        asyncio.run(WebJudge()(episode(steps, final, instruction=PENS), task()))


def test_a_picture_is_nothing_that_rules_can_tell() -> None:
    text_first = dataclasses.replace(episode([("Shop", "click('1')")], instruction=PENS), final_screenshot=PNG)
    for played in (
        text_first,
        dataclasses.replace(text_first, steps=(dataclasses.replace(text_first.steps[0], text=""),)),
    ):
        for judge in JUDGES.values():
            with pytest.raises(CannotSay, match="the last page is a picture"):
                asyncio.run(judge(played, task(reference="2 blue pens")))


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c6360606000000004000127342"
    "70a0000000049454e44ae426082"
)


def test_what_is_asked_for_is_no_end_of_a_page() -> None:
    for instruction in ("Find the price of the red mug", "What is the price of the red mug?"):
        with pytest.raises(CannotSay, match="an answer is asked for"):
            asyncio.run(
                WebJudge()(episode([("Shop", "click('1')")], "red mug, price 5.00", instruction=instruction), task())
            )


def test_a_task_that_names_nothing_is_met_by_no_page() -> None:
    with pytest.raises(CannotSay, match="the task names nothing that a page could show"):
        asyncio.run(WebJudge()(episode([("Shop", "click('1')")], "Done.", instruction="Do it"), task()))


def test_one_fact_that_does_not_hold_decides_and_a_doubt_does_not() -> None:
    played = episode([("Shop", "click('1')"), ("cart: 2 blue pens", "click('2')")], "cart: 1 mug")
    sure, doubt, wrong = "1 mug", "2 blue pens", "3 lamps"
    assert asyncio.run(RubricJudge()(played, task(reference=f"{sure}\n{doubt}\n{wrong}"))) == (0.0, False)
    for partial in (False, True):
        with pytest.raises(CannotSay, match="an earlier page showed it"):
            asyncio.run(RubricJudge(partial=partial)(played, task(reference=f"{sure}\n{doubt}")))
    assert asyncio.run(RubricJudge(partial=True)(played, task(reference=f"{sure}\n{wrong}"))) == (0.5, False)
    # A fact that denies something is shown by what denies it.
    empty = episode([("cart: 1 mug", "click('1')")], "Your cart is empty.")
    assert asyncio.run(RubricJudge()(empty, task(reference="the cart is empty"))) == (1.0, True)


@pytest.mark.parametrize(
    ("line", "standing"),
    [
        ("Your cart: 2 blue pens", Standing.STATES),
        ("The page was saved without any errors.", Standing.STATES),
        ("The page has been saved and will be shown.", Standing.STATES),
        ("The page Recipes could not be saved.", Standing.DENIES),
        ("No items were added", Standing.DENIES),
        ("0 items in the cart", Standing.DENIES),
        ("The page wasn’t saved", Standing.DENIES),
        ("Seite nicht gespeichert", Standing.DENIES),
        ("Anna wrote: the page was saved", Standing.QUOTES),
        ("> the page was saved", Standing.QUOTES),
        ("Bob (yesterday): the page is saved", Standing.QUOTES),
        ("Bob closed the ticket", Standing.QUOTES),
        ("“The room is booked for Friday evening” — Anna", Standing.QUOTES),
        ("Results for saved page", Standing.ECHOES),
        ("http://wiki/saved?page=recipes", Standing.ECHOES),
        ("[7] textbox 'Title', value='Recipes'", Standing.ECHOES),
        ("Page title: Recipes", Standing.ECHOES),
        ("[7] button 'Save page'", Standing.OFFERS),
        ("Save page", Standing.OFFERS),
        ("Do you want the page saved?", Standing.OFFERS),
        ("The page will be saved", Standing.OFFERS),
    ],
)
def test_what_a_sentence_is(line: str, standing: Standing) -> None:
    assert [each.standing for each in statements_of(line)] == [standing]


def test_what_follows_a_quotation_or_the_head_of_a_mail_is_somebodys_words() -> None:
    quoted = statements_of("Page saved\n\nAnna wrote:\nroom booked\n\nPage closed")
    assert [each.standing is Standing.QUOTES for each in quoted] == [False, True, True, False]
    mail = statements_of("Message sent\nFrom: Anna\n\nroom booked\n\nroom closed")
    assert [each.standing is Standing.QUOTES for each in mail] == [False, True, True, True]


def test_a_name_that_sounds_like_a_denial_is_a_name() -> None:
    (shown,) = statements_of("Issue 'Login fails' was created.", ["Login fails"])
    assert shown.standing is Standing.STATES and not shown.fails


def test_clauses_take_over_the_verb() -> None:
    asked = "Delete 'a and b' and 'c', then turn on 'dark mode'."
    assert clauses_of(asked) == ["Delete 'a and b'", "delete 'c'", "turn on 'dark mode'"]
