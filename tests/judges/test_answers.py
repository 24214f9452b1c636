"""Answers against references, by type: what people write for the same, and what only looks like it."""

from __future__ import annotations

import pytest

from tars_jax.judges.answers import says_the_same
from tars_jax.judges.reference import normalized

SAME = [
    ("1234", "1,234"), ("1.5 million", "1,500,000"), ("547,030 km²", "547,030 km²"), ("547030 sq km", "547,030 km²"),
    ("547,030", "547,030 km²"), ("12 km", "12,000 m"), ("82.6", "82.6 years"), ("about 82.6 years", "82.6 years"),
    ("81.8 percent", "81.8 %"), ("−5", "-5"), ("12.4 km", "12 km ± 5%"), ("12.9 km", "12 km ± 1"),
    ("July 14, 1789", "14 July 1789"), ("1789-07-14", "14 July 1789"), ("14th of July 1789", "1789-07-14"),
    ("France, Spain and Italy", "Italy; Spain; France"), ("Paris.", "the Paris"), ("Sao Paulo", "São Paulo"),
    ("It is Paris", "Paris"), ("Guinea Bissau", "Guinea-Bissau"), ("Burma", "Myanmar || Burma"),
    ("Ｐａｒｉｓ", "paris"),
]  # fmt: skip
OTHER = [
    ("1,235", "1,234"), ("1.5 billion", "1,500,000"), ("547,030 km", "547,030 km²"), ("12 m", "12 km"),
    ("82.7", "82.6 years"),
    ("13.1 km", "12 km ± 1"), ("15 July 1789", "14 July 1789"), ("1789", "14 July 1789"),
    ("France and Spain", "France"),
    ("France, Spain", "France, Spain and Italy"), ("Niger", "Nigeria"), ("Guinea", "Guinea-Bissau"),
    ("not Paris", "Paris"),
    ("Paris or Lyon", "Paris"), ("", "Paris"), ("Paris || Lyon", "Paris"), ("5", "-5"), ("81.8 years", "81.8 %"),
    ("Republic of the Congo", "Democratic Republic of the Congo"), ("unknown", "0"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "reference"), SAME)
def test_the_same_in_other_words(answer: str, reference: str) -> None:
    assert says_the_same(answer, reference, normalized)


@pytest.mark.parametrize(("answer", "reference"), OTHER)
def test_another_answer(answer: str, reference: str) -> None:
    assert not says_the_same(answer, reference, normalized)


@pytest.mark.parametrize(
    ("answer", "reference", "question", "right"),
    [
        ("The capital of France is Paris.", "Paris", "What is the capital of France?", True),
        ("The capital of Paris is France.", "Paris", "What is the capital of France?", False),
        ("Paris, France", "Paris", "What is the capital of France?", True),
        ("Paris, France", "Paris", "Which city is it?", False),  # as "Paris, Texas": nobody here knows
        ("Paris and France", "Paris", "What is the capital of France?", False),
        ("Paris Lyon", "Paris", "Which is larger, Paris or Lyon?", False),  # both are in the question
        ("I think it is Paris", "Paris", "Which city is it?", True),
        ("It has 12 airports, not 13.", "12", "How many airports does it have?", True),
        ("1960", "1963", "In which year was it?", False),  # years are never rounded
        ("3.29 million km²", "3,287,590 km²", "How large is it?", True),
        ("3.3 million km²", "3,287,590 km²", "How large is it?", False),
        ("4/7/1789", "4 July 1789", "When was it?", False),  # which one is the month?
        ("USA", "Union of South Africa", "Which country is it?", True),
        ("usa", "Union of South Africa", "Which country is it?", False),
    ],
)
def test_sentences_about_the_question(answer: str, reference: str, question: str, right: bool) -> None:
    assert says_the_same(answer, reference, normalized, question) is right


def test_odd_answers_are_wrong() -> None:
    odd = ("1,111" * 400, "not " * 500, "(" * 2000, "9" * 400, "\x00", "\ue000", "½", "+++", "-", "x" * 3000)
    for answer in odd:
        for reference in ("Paris", "7,737,002", "14 July 1789", "copper and zinc", "1963", "C++", "yes"):
            assert not says_the_same(answer, reference, normalized, "Which?"), (answer[:20], reference)
