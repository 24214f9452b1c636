"""Answers to synthesized questions as people say them, right ones in ten forms of speech and wrong ones; by these a
question is admitted for its judge."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tars_jax.environment import CannotSay
from tars_jax.judges.answers import says_the_same
from tars_jax.judges.judge import MOST_UNJUDGED
from tars_jax.judges.judge_coverage import FORMS as ANY_ANSWER
from tars_jax.tasks.browsing.article import plain
from tars_jax.tasks.browsing.encyclopedia import Encyclopedia
from tars_jax.tasks.browsing.question import BrowsingQuestion

NEIGHBORS = 8  # of which a wrong answer is made
FORMS = (
    *ANY_ANSWER, "According to the encyclopedia, it is {answer}.", "The {asked} of {entity} is {answer}.",
    "I read the page of {entity}. Its {asked} is {answer}, as the infobox says.",
)  # fmt: skip


def right_answers(question: BrowsingQuestion) -> Iterator[str]:
    asked = question.proof["asked"]
    for form in FORMS:
        yield form.format(answer=question.answers[0], asked=asked["name"], entity=_entity(question))


def wrong_answers(question: BrowsingQuestion, encyclopedia: Encyclopedia) -> Iterator[str]:
    """Values of neighbors of the same kind, names that the question offers, and numbers off by their last digit or by
    ten, each alone and in a sentence; and the right one with another beside it."""
    asked, right = question.proof["asked"], question.answers[0]
    found = _neighbors(question, encyclopedia)
    found += [name for name in re.findall(r"\b[A-Z]\w+\d+\b", question.text) if name not in question.answers]
    if match := re.fullmatch(r"([\d,]+)( .*)?", right):
        value, unit = int(match[1].replace(",", "")), match[2] or ""
        found += [f"{value + 1}{unit}", f"{10 * value}{unit}", f"-{value}{unit}", f"{value}.5{unit}"]
    for each in found:
        yield each
        yield f"The {asked['name']} of {_entity(question)} is {each}."
        yield f"{right} or {each}"
        yield f"{each}, not {right}"


def _entity(question: BrowsingQuestion) -> str:
    asked = question.proof["asked"]
    return f"the {asked['kind']}" if asked["name"] == "name" else question.plan[-1]


def is_untold(question: BrowsingQuestion, encyclopedia: Encyclopedia) -> bool:
    """Whether the embedded judge does not take a fifth or more of the right answers, or the answer alone; or does not
    refuse as many of the wrong ones, or takes one."""
    right = [_verdict(each, question) for each in right_answers(question)]
    wrong = [_verdict(each, question) for each in wrong_answers(question, encyclopedia)]
    if _verdict(question.answers[0], question) is not True or True in wrong:
        return True
    missed = (len(right) - right.count(True), right), (len(wrong) - wrong.count(False), wrong)
    return any(number and number >= MOST_UNJUDGED * len(group) for number, group in missed)


def _verdict(answer: str, question: BrowsingQuestion) -> bool | None:
    try:
        return says_the_same(answer, question.reference, question.text)
    except CannotSay:
        return None


def _neighbors(question: BrowsingQuestion, encyclopedia: Encyclopedia) -> list[str]:
    asked, found = question.proof["asked"], dict[str, None]()
    for article in encyclopedia.of_kind(asked["kind"]):
        own = [plain(fact.shown) for fact in article.facts if fact.name == asked["name"]]
        own = own or ([article.title] if asked["name"] == "name" else [])
        found |= dict.fromkeys(each for each in own if each not in question.answers)
        if len(found) >= NEIGHBORS:
            break
    return list(found)[:NEIGHBORS]
