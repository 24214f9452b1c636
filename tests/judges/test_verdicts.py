"""Closed forms: what is no verdict is unreadable, and nothing that is not one reads as success."""

from __future__ import annotations

import pytest

from tars_jax.judges import UnreadableVerdict
from tars_jax.judges.verdicts import read_answer, read_fact, read_points, read_score, read_verdict


@pytest.mark.parametrize(
    ("text", "success"),
    [
        ("All is met.\nVERDICT: SUCCESS", True),
        ("The last filter is missing.\n\nVerdict: failure.\n", False),
        ("**VERDICT: SUCCESS**", True),
        ("It says 'success' everywhere.\nVERDICT:  FAILURE", False),
        ('Nothing was saved.\n\nVERDICT: "failure"', False),
        ("### VERDICT: SUCCESS", True),
        ("**Verdict:**\n\nsuccess", True),
        ("The filter was not applied. Verdict: failure", False),
    ],
)
def test_a_verdict_is_the_whole_last_line(text: str, success: bool) -> None:
    assert read_verdict(text) is success


@pytest.mark.parametrize(
    "text",
    [
        "",
        "success",
        "VERDICT: UNSUCCESSFUL",
        "VERDICT: unsuccessful success",
        "VERDICT: not success",
        "VERDICT: SUCCESSFUL",
        "VERDICT: SUCCESS or VERDICT: FAILURE",
        "The form is VERDICT: SUCCESS",
        "VERDICT: FAILURE\nOr rather this. VERDICT: SUCCESS",
        "VERDICT: SUCCESS\nVERDICT:",
        "Status: success",
        "VERDICT: SUCCESS, but the cart is empty",
        "VERDICT: SUCCESS\nOn the other hand, nothing was saved",
        "VERDICT: FAILURE\nVERDICT: SUCCESS",
        "VERDICT: SUCCESS. VERDICT: FAILURE",
        "VERDICT: SUCCESS; VERDICT: FAILURE",
        "VERDICT: FAILURE - no, VERDICT: SUCCESS",
        "**VERDICT: FAILURE** (verdict: success)",
        "It is VERDICT: FAILURE, I thought.\nVERDICT: SUCCESS",
    ],
)
def test_what_is_no_verdict_is_unreadable(text: str) -> None:
    with pytest.raises(UnreadableVerdict):
        read_verdict(text)


def test_scores_and_facts_and_key_points() -> None:
    assert read_score("It shows the cart.\nSCORE: 4") == 4
    assert (
        read_score("### Score: 3\n\nIt is not relevant.") == read_score("### Reasoning:\nSome.\n\n### Score \n\n3") == 3
    )
    assert read_score("A score of 1 to 5.\nScore: 3\nIn all:\nScore: 3") == 3
    assert read_fact("The badge says 2.\nFACT: YES 3", 3) == 3 and read_fact("No badge.\nfact: no", 3) is None
    assert read_points("Requirements:\n1. a cart\n 2) two pens\nThat is all.") == ["a cart", "two pens"]
    assert read_points("Points:\n- a cart\n* two pens") == ["a cart", "two pens"]
    assert read_points("1. a cart\n - of pens") == ["a cart"]
    for text in (
        "SCORE: 6",
        "SCORE: 0",
        "SCORE: 45",
        "4",
        "SCORE: 4/5",
        "Score: 2\nScore: 3\nBoth.",
        "Score: 2\nScore: 3",
        "Score: 2, score: 3",
    ):
        with pytest.raises(UnreadableVerdict):
            read_score(text)
    for text in (
        "FACT: YES",
        "FACT: YES 4",
        "FACT: YES 0",
        "FACT: NOT",
        "FACT: no 2",
        "FACT: YES 1 and 2",
        "FACT: NO. FACT: YES 1",
    ):
        with pytest.raises(UnreadableVerdict):
            read_fact(text, 3)
    with pytest.raises(UnreadableVerdict, match="one verdict; got answer: correct and answer: incorrect"):
        read_answer("ANSWER: INCORRECT! ANSWER: CORRECT")
    with pytest.raises(UnreadableVerdict, match="numbered lines"):
        read_points("a cart, two pens")
