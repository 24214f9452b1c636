"""Answers to questions about days, lists, signs, names and sums in the forms that people give them: labelled by hand,
most before the rules for them were read. Of many right ones the rules cannot say; what no rule understands is not
called wrong."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from tests.judges.saying import verdict

FORMS = [
    json.loads(line)
    for line in (pathlib.Path(__file__).parent / "answer_forms.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form["question"])
def test_wrong_ones_are_not_taken_and_right_ones_not_refused(form: dict[str, Any]) -> None:
    question, reference = form["question"], form["reference"]
    assert [each for each in form["right"] if verdict(each, reference, question) is False] == []
    assert [each for each in form["wrong"] if verdict(each, reference, question) is True] == []
    assert [each for each in form.get("unknown", ()) if verdict(each, reference, question) is not None] == []


def test_most_right_ones_are_taken() -> None:
    found = [verdict(each, form["reference"], form["question"]) for form in FORMS for each in form["right"]]
    assert found.count(True) >= 0.75 * len(found)


@pytest.mark.parametrize(
    ("answer", "reference", "question"),
    [
        ("ascorbic acid", "vitamin C", "Which vitamin is it?"),
        ("Prince Rogers Nelson", "Prince", "Which artist recorded it?"),
        ("the day after the coronation", "3 June 1953", "When was it?"),
        ("as many as there are letters", "26", "How many are there?"),
        ("Pets are not permitted.", "No", "Does the hotel allow pets?"),
        ("Republic of China", "China", "Which country was it?"),
        ("Andrei Dostoevsky", "Fyodor Dostoevsky", "Who wrote it?"),
    ],
)
def test_what_is_not_understood_is_not_wrong(answer: str, reference: str, question: str) -> None:
    assert verdict(answer, reference, question) is None


@pytest.mark.parametrize(
    ("answer", "reference", "question"),
    [
        ("A quarter of 480 is 120, so 120.", "360", "How many were left?"),
        ("No, wait, it was refused", "Yes, it was granted", "Was it granted?"),
        ("I was not able to find it.", "3 June 1953", "When was it?"),
    ],
)
def test_what_commits_to_another_or_declines_is_wrong(answer: str, reference: str, question: str) -> None:
    assert verdict(answer, reference, question) is False


_CITY = "Take a city with a longitude of -74 to -72° and 10 percent forest. {} Answer with a number of inhabitants."


@pytest.mark.parametrize("asked", ["How many people live in that city?", "What is the population of that city?"])
def test_what_a_question_tells_of_the_thing_is_not_the_unit_that_it_asks_for(asked: str) -> None:
    question = _CITY.format(asked)
    right = ("203,415", "203,415 inhabitants", "203,415 people", "It has 203,415 inhabitants.", "203415 inhabitants.")
    assert [each for each in right if verdict(each, "203,415 ||", question) is not True] == []
    wrong = ("203,416 inhabitants", "203,415 km", "203,415%", "203,415°", "203,415 cars", "203,415 households")
    assert [each for each in wrong if verdict(each, "203,415 ||", question) is True] == []
    latitude = "Take a city with 10,000 to 20,000 inhabitants. What is its latitude? Answer with a number, in degrees."
    assert verdict("12.5°", "12.5", latitude) is True and verdict("12.5 people", "12.5", latitude) is not True


@pytest.mark.parametrize("reference", ["203,415", "203,415 ||", "960 km", "1853 ||"])
def test_words_that_say_no_number_are_none(reference: str) -> None:
    for said in ("Motalin", "banana", "the capital city", "blue", "It is Motalin."):
        assert verdict(said, reference, "How many are there?") is False, said
    for said in ("zweihundert", "veintitrés", "a dozen", "half of them", "nobody", "an hour", "XVII", "二百"):
        assert verdict(said, reference, "How many are there?") is not True, said


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("zwölf", "12 ||"), ("tolv", "12 ||"), ("none of them", "0"), ("an hour", "1"), ("both", "2"),
        ("a dollar", "1"),
        ("as many as there are letters", "26"), ("a pair", "2"), ("двенадцать", "12 ||"),
    ],
)  # fmt: skip
def test_words_that_may_say_the_number_are_not_wrong(answer: str, reference: str) -> None:
    assert verdict(answer, reference, "How many are there?") is not False


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("バリ", "パリ"), ("ガラス", "カラス"), ("マイケル・バード", "マイケル・ハート"), ("が", "か"), ("И", "Й"),
        ("Сергеи", "Сергей"), ("x ≠ y", "x = y"), ("กัน", "กั้น"), ("क्या", "कया"),
    ],
)  # fmt: skip
def test_marks_that_make_another_letter_are_no_accents(answer: str, reference: str) -> None:
    for one, other in ((answer, reference), (reference, answer)):
        assert verdict(one, other, "What is it called?") is not True
        assert verdict(one, f"{other} ||", "What is it called?") is not True


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("Jose", "José"), ("Cafe\u0301", "café"), ("Αθηνα", "Αθήνα"), ("Королев", "Королёв"), ("Москва́", "Москва"),
        ("ﾊﾞﾘ", "バリ"), ("バリ", "バリ"), ("Nguyen", "Nguyễn"), ("Китай", "Китай"), ("서울", "서울"),
    ],
)  # fmt: skip
def test_accents_are_left_out(answer: str, reference: str) -> None:
    for one, other in ((answer, reference), (reference, answer)):
        assert verdict(one, other, "What is it called?") is True


@pytest.mark.parametrize(
    ("answer", "reference", "right"),
    [
        ("Paris (France)", "Paris", True), ("It is Lima (Peru).", "Lima", True), ("Paris (Texas)", "Paris", None),
        ("Paris (Germany)", "Paris", None), ("London (France)", "Paris", False), ("Alice (Bob)", "Alice", None),
        ("5", "$5", True), ("five", "€5", True), ("5 km", "$5", None), ("5 EUR", "$5", None), ("-5", "$5", False),
        ("5", "$5 million", False), ("$5", "5", None),
    ],
)  # fmt: skip
def test_a_citys_country_and_a_unit_that_is_left_out(answer: str, reference: str, right: bool | None) -> None:
    assert verdict(answer, f"{reference} ||", "") is right
