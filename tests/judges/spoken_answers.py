"""Answers to synthesized questions as people say them: right ones in ten forms of speech, and wrong ones."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tars_jax.tasks.browsing.article import plain
from tars_jax.tasks.browsing.encyclopedia import Encyclopedia
from tars_jax.tasks.browsing.question import Question

FORMS = (
    "{answer}", "{answer}.", "The answer is {answer}.", "Final answer: {answer}", "**{answer}**", "\\boxed{{{answer}}}",
    "I think it is {answer}.", "According to the encyclopedia, it is {answer}.", "The {asked} of {entity} is {answer}.",
    "I read the page of {entity}. Its {asked} is {answer}, as the infobox says.",
)  # fmt: skip


def right_answers(question: Question) -> Iterator[str]:
    asked = question.proof["asked"]
    entity = f"the {asked['kind']}" if asked["name"] == "name" else question.plan[-1]
    for form in FORMS:
        yield form.format(answer=question.answers[0], asked=asked["name"], entity=entity)


def wrong_answers(question: Question, encyclopedia: Encyclopedia) -> Iterator[str]:
    """Values of neighbors of the same kind, names that the question offers, and numbers off by their last digit or by
    ten, each alone and in a sentence; and the right one with another beside it."""
    asked, right = question.proof["asked"], question.answers[0]
    found: list[str] = []
    for article in encyclopedia.of_kind(asked["kind"]):
        own = [plain(fact.shown) for fact in article.facts if fact.name == asked["name"]]
        found += own or ([article.title] if asked["name"] == "name" else [])
    found = [each for each in dict.fromkeys(found) if each not in question.answers][:8]
    found += [name for name in re.findall(r"\b[A-Z]\w+\d+\b", question.text) if name not in question.answers]
    if match := re.fullmatch(r"([\d,]+)( .*)?", right):
        value, unit = int(match[1].replace(",", "")), match[2] or ""
        found += [f"{value + 1}{unit}", f"{10 * value}{unit}", f"-{value}{unit}", f"{value}.5{unit}"]
    for each in found:
        yield each
        yield f"The {asked['name']} of {question.plan[-1]} is {each}."
        yield f"{right} or {each}"
        yield f"{each}, not {right}"
