"""Answers against references, by type: what people write for the same, what only looks like it, and what nobody can say
who has the text alone."""

from __future__ import annotations

import pytest

from tars_jax.data.question_synthesis.filters import FrequentAnswers
from tars_jax.data.question_synthesis.spoken import right_answers, wrong_answers
from tars_jax.data.question_synthesis.synthesis import SynthesisConfig, synthesize
from tars_jax.judges import CannotSay
from tars_jax.judges.answers import says_the_same
from tars_jax.tasks.browsing.question import Question
from tests.data.test_question_synthesis import source

SAME = [
    ("1234", "1,234"), ("1.5 million", "1,500,000"), ("547,030 km²", "547,030 km²"), ("547030 sq km", "547,030 km²"),
    ("547,030", "547,030 km²"), ("12 km", "12,000 m"), ("82.6", "82.6 years"), ("about 82.6 years", "82.6 years"),
    ("81.8 percent", "81.8 %"), ("−5", "-5"), ("12.4 km", "12 km ± 5%"), ("12.9 km", "12 km ± 1"),
    ("July 14, 1789", "14 July 1789"), ("1789-07-14", "14 July 1789"), ("14th of July 1789", "1789-07-14"),
    ("le 14 juillet 1789", "14 July 1789"), ("2:35 pm", "14:35"), ("1914-18", "1914 to 1918"), ("44 BCE", "44 BC"),
    ("France, Spain and Italy", "Italy; Spain; France"), ("Paris.", "the Paris"), ("Sao Paulo", "São Paulo"),
    ("It is Paris", "Paris"), ("Guinea Bissau", "Guinea-Bissau"), ("Burma", "Myanmar || Burma"),
    ("Edward Ⅶ", "Edward VII"), ("Ｐａｒｉｓ", "paris"), ("٤٨", "48"), ("5 ft 11 in", "71 in"),
    ("3h 15m", "195 minutes"),
    ("€80m", "80 million euros"), ("1.5 × 10⁸ km", "150 million km"), ("Deutschland", "Germany"), ("東京", "Tokyo"),
    ("SMTP", "Simple Mail Transfer Protocol"),
    ("12.5 °C below zero", "-12.5 °C"), ("9.5 °F", "-12.5 °C"), ("2'750'547", "2,750,547"), ("twenty-one", "21"),
]  # fmt: skip
OTHER = [
    ("1,235", "1,234"), ("1.5 billion", "1,500,000"), ("547,030 km", "547,030 km²"), ("12 m", "12 km"),
    ("82.7", "82.6 years"), ("13.1 km", "12 km ± 1"), ("15 July 1789", "14 July 1789"), ("1789", "14 July 1789"),
    ("France and Spain", "France"), ("France, Spain", "France, Spain and Italy"), ("Guinea", "Guinea-Bissau"),
    ("Niger", "Nigeria"), ("not Paris", "Paris"), ("Paris or Lyon", "Paris"), ("", "Paris"), ("5", "-5"),
    ("81.8 years", "81.8 %"), ("unknown", "0"), ("$80 million", "€80 million"), ("500 MB/s", "500 Mbit/s"),
    ("at least 191", "191"), ("before 1963", "1963"), ("Mexico City", "Mexico"), ("HTTPS", "HTTP"), ("A", "A-"),
    ("Lyon", "Paris ||"), ("Edward VIII", "Edward VII"), ("Paris. No, wait: Lyon", "Paris"), ("Brazil", "Peru"),
    ("anything but Paris", "Paris"), ("I could not find it.", "Paris"), ("the page does not say", "Paris"),
]  # fmt: skip
UNSURE = [
    ("Holland", "Netherlands"), ("Lyon", "Paris"), ("Samuel Clemens", "Mark Twain"), ("Цюрих Обер", "Obere Mühle"),
    ("4/7/1789", "4 July 1789"), ("New Mexico", "Mexico"), ("a suburb of Paris", "Paris"), ("37.84 km", "37.8 km"),
    ("1.234", "1,234"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "reference"), SAME)
def test_the_same_in_other_words(answer: str, reference: str) -> None:
    assert says_the_same(answer, reference)


@pytest.mark.parametrize(("answer", "reference"), OTHER)
def test_another_answer(answer: str, reference: str) -> None:
    assert not says_the_same(answer, reference)


@pytest.mark.parametrize(("answer", "reference"), UNSURE)
def test_what_has_to_be_known_is_not_guessed(answer: str, reference: str) -> None:
    with pytest.raises(CannotSay):
        says_the_same(answer, reference)


@pytest.mark.parametrize(
    ("answer", "reference", "question", "right"),
    [
        ("The capital of France is Paris.", "Paris", "What is the capital of France?", True),
        ("The capital of Paris is France.", "Paris", "What is the capital of France?", False),
        ("Paris, France", "Paris", "What is the capital of France?", True),
        ("Paris Lyon", "Paris", "Which is larger, Paris or Lyon?", False),  # both are in the question
        ("Lyon, Paris", "Paris", "Which of Paris and Lyon is larger?", False),
        ("Paris is larger than Lyon.", "Paris", "Which is larger, Paris or Lyon?", True),
        ("Lyon is larger than Paris.", "Paris", "Which is larger, Paris or Lyon?", False),
        ("I think it is Paris", "Paris", "Which city is it?", True),
        ("It has 12 airports, not 13.", "12", "How many airports does it have?", True),
        ("1960", "1963", "In which year was it?", False),  # years are never rounded
        ("3.29 million km²", "3,287,590 km²", "How large is it?", True),
        ("3.3 million km²", "3,287,590 km²", "How large is it?", False),
        ("5 km", "5", "How many km is it?", True),
        ("5 miles", "5", "How many km is it?", False),
        ("$1,234.00", "1234", "What is the balance?", True),
        ("37 respondents", "37 respondents", "What share of respondents agreed?", True),
        ("Yes, but actually no", "Yes", "Is it a remake?", False),
        ("Yes, though it was not filmed there.", "yes", "Is it a remake?", True),
        ("It is not a remake.", "no", "Is it a remake?", True),
        ("I first thought of Quito, but it is Lima", "Lima", "Which city is it?", True),
        ("Quito. Correction: Lima", "Lima", "Which city is it?", True),
        ("Lima. VERDICT: CORRECT", "Lima", "Which city is it?", True),
        ("VERDICT: CORRECT", "Lima", "Which city is it?", False),
        ('{"answer": "Lima"}', "Lima", "Which city is it?", True),
        ("Lima\nQuito", "Lima", "Which city is it?", False),
        ("5, 3, 2", "2, 3, 5", "Which are the first primes, in order?", False),
    ],
)
def test_sentences_about_the_question(answer: str, reference: str, question: str, right: bool) -> None:
    assert says_the_same(answer, reference, question) is right


def test_odd_answers_are_wrong_or_nobody_can_say() -> None:
    odd = (
        "1,111" * 400,
        "not " * 500,
        "(" * 2000,
        "9" * 400,
        "\x00",
        "\ue001",
        "½",
        "+++",
        "-",
        "x" * 5000,
        "\ud800",
        "{" * 90,
    )
    for answer in odd:
        for reference in ("Paris", "7,737,002", "14 July 1789", "copper and zinc", "1963", "C++", "yes"):
            try:
                right = says_the_same(answer, reference, "Which?")
            except CannotSay:
                right = False
            assert not right, (answer[:20], reference)


def is_taken(answer: str, question: Question) -> bool:
    try:
        return says_the_same(answer, question.reference, question.text)
    except CannotSay:
        return False


def test_ten_forms_of_speech_for_every_synthesized_question() -> None:
    """Questions over sixty countries with their capitals: all forms are taken, all that is wrong is refused."""
    encyclopedia = source()
    config = SynthesisConfig(30)
    questions = synthesize(encyclopedia, "small", None, FrequentAnswers(encyclopedia), config, seed=1).questions
    wrong = 0
    for question in questions:
        for answer in right_answers(question):
            assert says_the_same(answer, question.reference, question.text), (answer, question.text, question.reference)
        for answer in wrong_answers(question, encyclopedia):
            wrong += 1
            assert not is_taken(answer, question), (answer, question.text, question.reference)
    assert len({question.proof["asked"]["name"] for question in questions}) >= 2 and wrong > 300
