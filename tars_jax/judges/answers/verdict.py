"""The verdict over an answer: right only where the whole of it is accounted for."""

from __future__ import annotations

import re

from tars_jax.environment import CannotSay
from tars_jax.judges.answers.carriers import carried
from tars_jax.judges.answers.forms import DECLINES, bare, emphasized, is_reading, last_said, lined, sentence, sentences
from tars_jax.judges.answers.kinds import AnswerKind, kind_of
from tars_jax.judges.answers.names import is_code, is_of_other_script
from tars_jax.judges.answers.numbers import says_no_number
from tars_jax.judges.answers.quantity import Same
from tars_jax.judges.answers.question_forms import asks_symbol
from tars_jax.judges.answers.questions import ParsedQuestion, question_of
from tars_jax.judges.answers.words import canonical, folded, plain
from tars_jax.judges.answers.yes_no import as_yes_or_no, polarity

ALTERNATIVES = " || "
LONGEST = 4000  # characters of an answer; more is none
_MOST_WORDS = 3  # of what is plainly no number


def says_the_same(answer: str, reference: str, question: str = "") -> bool:
    """Raises CannotSay where a part of the answer is not understood, or needs knowledge."""
    if len(answer) > LONGEST or not answer.strip():
        return False
    wanted = alternatives(reference)
    if any(
        canonical(answer).casefold() == canonical(each).casefold() for each in wanted if not _has_cases(each, question)
    ):
        return True
    if any(canonical(answer) == canonical(each) for each in wanted):
        return True
    asked = question_of(question)
    is_closed = reference.rstrip().endswith(ALTERNATIVES.rstrip())
    said = emphasized(lined(bare(last_said(bare(answer)))))
    found = [
        _polarity(said, each, asked)
        if as_yes_or_no(each, question)
        else _stands(said, each, kind_of(plain(each), asked, is_closed=is_closed), asked, is_closed=is_closed)
        for each in wanted
    ]
    if Same.YES in found:
        return True
    if Same.UNSURE not in found or Same.OTHER in found:
        return False
    raise CannotSay(f"not all of {answer!r:.80} is understood as an answer like {wanted[0]!r:.60}")


def alternatives(reference: str) -> list[str]:
    """The ways to say a reference."""
    return [each.strip() for each in reference.split(ALTERNATIVES.strip()) if each.strip()]


def _has_cases(reference: str, question: str) -> bool:
    """5 mW is no 5 MW, and Co no CO."""
    is_unit = re.search(r"\d\s?(?:[^\W\d_]*[A-Z]|[^\W\d_]{1,3}\b)|(?:^|\s)-\w", reference)
    return bool(is_unit) or asks_symbol(reference, question)


def _polarity(said: str, reference: str, question: ParsedQuestion) -> Same:
    wanted = as_yes_or_no(reference, question.text)
    said = sentence(said)
    pole, _, other = polarity(said, reference, question).partition(", ")
    if pole == wanted:
        return Same.UNSURE if other else Same.YES
    if pole:
        is_mixed = other and re.search(rf"\b{wanted}\b", said, re.IGNORECASE)
        return Same.UNSURE if is_mixed else Same.NO
    return Same.NO if DECLINES.search(said) else Same.UNSURE


def _stands(said: str, reference: str, kind: AnswerKind, question: ParsedQuestion, *, is_closed: bool) -> Same:
    """Relation of an answer to one way to say a reference; `Same.OTHER`: it leaves a choice."""
    same = carried(sentence(said), kind, question)
    if Same.YES in same or _is_all_the_same(said, kind, question):
        return Same.YES
    if Same.OTHER in same:
        return Same.OTHER
    if same == {Same.NO}:
        return Same.NO
    values = set(kind.find(said))
    if values:
        return Same.NO if values == {Same.NO} else Same.UNSURE
    if folded(canonical(reference)) in folded(said):
        return Same.UNSURE
    is_another = (kind.name == "code" and is_code(said)) or (kind.name == "name" and is_closed)
    is_another = is_another or (_is_counted(kind, said, is_closed=is_closed) and says_no_number(said))
    is_another = is_another and not same and not is_of_other_script(said, reference)
    return Same.NO if is_another or DECLINES.search(said) else Same.UNSURE


def _is_counted(kind: AnswerKind, said: str, *, is_closed: bool) -> bool:
    """Whether an answer must hold a number; in a longer phrase it may be told otherwise: as many as letters."""
    return kind.name == "number" and (is_closed or len(said.split()) <= _MOST_WORDS)


def _is_all_the_same(said: str, kind: AnswerKind, question: ParsedQuestion) -> bool:
    """Whether several sentences say the same: one carries the answer, and each other one too or says only where it was
    read."""
    parts = sentences(said)
    if len(parts) < 2:
        return False
    found = [carried(sentence(each), kind, question) for each in parts if not is_reading(each)]
    return bool(found) and all(Same.YES in each for each in found)
