"""Answers against references, by type: what people write for the same, what only looks like it, and what nobody can say
who has the text alone."""

from __future__ import annotations

import pytest

from tars_jax.data.config import QuestionSynthesisConfig
from tars_jax.data.question_synthesis.filters import FrequentAnswers
from tars_jax.data.question_synthesis.spoken_answers import right_answers, wrong_answers
from tars_jax.data.question_synthesis.synthesis import synthesize
from tars_jax.environment import CannotSay
from tars_jax.judges.answers import says_the_same
from tests.data.test_question_synthesis import source
from tests.judges.saying import verdict

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
    assert not verdict(answer, reference)


@pytest.mark.parametrize(("answer", "reference"), UNSURE)
def test_what_has_to_be_known_is_not_guessed(answer: str, reference: str) -> None:
    with pytest.raises(CannotSay):
        says_the_same(answer, reference)


@pytest.mark.parametrize(
    ("answer", "reference", "question", "right"),
    [
        ("The capital of France is Paris.", "Paris", "What is the capital of France?", True),
        ("The capital of Paris is France.", "Paris", "What is the capital of France?", None),
        ("Paris, France", "Paris", "What is the capital of France?", True),
        ("Lima, Peru", "Lima", "Which city is it?", True),
        ("Lima, Chile", "Lima", "Which city is it?", None),
        ("Paris Lyon", "Paris", "Which is larger, Paris or Lyon?", None),  # both are in the question
        ("Lyon, Paris", "Paris", "Which of Paris and Lyon is larger?", None),
        ("Paris is larger than Lyon.", "Paris", "Which is larger, Paris or Lyon?", True),
        ("Lyon is larger than Paris.", "Paris", "Which is larger, Paris or Lyon?", None),
        ("I think it is Paris", "Paris", "Which city is it?", True),
        ("It has 12 airports, not 13.", "12", "How many airports does it have?", True),
        ("It has 13 airports, not 12.", "12", "How many airports does it have?", False),
        ("1960", "1963", "In which year was it?", False),  # years are never rounded
        ("3.29 million km²", "3,287,590 km²", "How large is it?", True),
        ("3.3 million km²", "3,287,590 km²", "How large is it?", False),
        ("3.14", "3.1416", "What is the ratio, to four decimals?", False),
        ("5 km", "5", "How many km is it?", True),
        ("5 miles", "5", "How many km is it?", False),
        ("5 km (3.1 mi)", "5 km", "How far is it?", True),
        ("5 km (4 mi)", "5 km", "How far is it?", None),
        ("$1,234.00", "1234", "What is the balance?", None),
        ("C$300", "$300", "What did it cost?", None),
        ("300 dollars", "$300", "What did it cost?", True),
        ("at most 200", "at least 200", "How many were there?", False),
        ("no fewer than 200", "at least 200", "How many were there?", True),
        ("37 respondents", "37 respondents", "What share of respondents agreed?", True),
        ("37 respondents", "37%", "What share of respondents agreed?", None),
        ("season 7", "7", "How many seasons were made?", None),
        ("Yes, but actually no", "Yes", "Is it a remake?", None),
        ("Yes, though it was not filmed there.", "yes", "Is it a remake?", None),
        ("It is not a remake.", "no", "Is it a remake?", True),
        ("It is a remake.", "no", "Is it a remake?", False),
        ("Lyon is larger.", "yes", "Is Paris larger than Lyon?", None),
        ("I first thought of Quito, but it is Lima", "Lima", "Which city is it?", None),
        ("First I read Quito's page.\nFinal answer: Lima", "Lima", "Which city is it?", True),
        ("Final answer: Lima\nFinal answer: Quito", "Lima", "Which city is it?", None),
        ("Lima. VERDICT: CORRECT", "Lima", "Which city is it?", None),
        ("I could not find it.", "Lima", "Which city is it?", False),
        ('{"answer": "Lima"}', "Lima", "Which city is it?", True),
        ('{"wrong": "Lima"}', "Lima", "Which city is it?", None),
        ("Lima\nQuito", "Lima", "Which city is it?", None),
        ("Lima or Quito", "Lima", "Which city is it?", False),
        ("5, 3, 2", "2, 3, 5", "Which are the first primes, in order?", False),
        ("The coast of Arland is 40 km long.", "40 km ||", "How long is the coast of the country that has it?", True),
    ],
)
def test_sentences_about_the_question(answer: str, reference: str, question: str, right: bool | None) -> None:
    assert verdict(answer, reference, question) is right


OWN = (
    "1.21 W/(m·K)", "https://a.b/c?d=1", "between 10 and 12 years", "Not guilty", "Nobody", "unknown", "Dr. No",
    "No. 5", "Two and a Half Men", "Ca(OH)2", "Op. 27 No. 2", "5 km (3.1 mi)", "more than 5", "none of the above",
    "x < 5", "He won", "from 1625 to 1649", "5th Ave", "York, England", "1920×1080", "3-1", "Yes, Prime Minister", "A+",
    "{a, b}", "~~", "😀",
)  # fmt: skip


@pytest.mark.parametrize("question", ["", "Which is it?", "How many are there?", "When was it?", "Is it so?"])
def test_a_reference_is_its_own_answer_whatever_it_is(question: str) -> None:
    refused = [each for each in OWN for said in (each, f" {each}. ") if verdict(said, each, question) is not True]
    assert refused == []


@pytest.mark.parametrize(
    "said",
    [
        "My Lima", "Saint Lima", "Lima (ship)", "Lima (not)", "Lima ✗", "Lima 👎", "≠Lima", "⇒Lima", "[Lima](Quito)",
        "Lima<!-- no, Quito -->", "Lima; scratch that", "~~Lima~~", "Lima??", "Lima-Quito", "North Lima", "Lima xyzzy",
        "xyzzy Lima", "Lima, xyzzy", "Lima (xyzzy)", "The xyzzy is Lima", "Lima is the xyzzy", "Lima. Xyzzy.",
        "It xyzzy Lima", "I xyzzy it is Lima", "Lima\n\nxyzzy", "Lima%", "$Lima",
    ],
)  # fmt: skip
def test_what_is_left_over_is_never_passed_over(said: str) -> None:
    for question in ("Which city is it?", "What is the capital of Peru?"):
        assert verdict(said, "Lima", question) is None
        assert not verdict(said.replace("Lima", "52"), "52", "How many are there?")


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
            assert not verdict(answer, reference, "Which?"), (answer[:20], reference)


def test_ten_forms_of_speech_for_every_synthesized_question() -> None:
    """Questions over sixty countries with their capitals: all forms are taken, all that is wrong is refused."""
    encyclopedia = source()
    config = QuestionSynthesisConfig(30)
    questions = synthesize(encyclopedia, "small", None, FrequentAnswers(encyclopedia), config, seed=1).questions
    wrong = 0
    for question in questions:
        for answer in right_answers(question):
            assert says_the_same(answer, question.reference, question.text), (answer, question.text, question.reference)
        for answer in wrong_answers(question, encyclopedia):
            wrong += 1
            assert not verdict(answer, question.reference, question.text), (answer, question.text, question.reference)
    assert len({question.proof["asked"]["name"] for question in questions}) >= 2 and wrong > 300
