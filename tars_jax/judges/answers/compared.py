"""What an answer says of two that a question compares, whatever stands before it.

    Is the Alba longer than the Toss?   The Toss is longer.  The Alba is shorter than the Toss.  ->  no

Who says "yes" and compares them the other way round says neither.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tars_jax.judges.answers import names
from tars_jax.judges.answers.clauses import Clause
from tars_jax.judges.answers.speech import COPULAS, FRAMES, NEGATIONS
from tars_jax.judges.answers.words import Word, tokens

UNCLEAR = "unclear"
_TIMES = frozenset(("before", "after"))
_OPPOSITES = (
    "more fewer less", "higher lower", "larger smaller", "bigger smaller", "larger littler", "greater smaller lesser",
    "longer shorter", "taller shorter", "older younger newer", "before after",
    "heavier lighter", "faster slower", "warmer colder cooler", "hotter colder cooler", "deeper shallower",
    "wider narrower", "nearer farther further", "closer farther further", "richer poorer", "stronger weaker",
    "cheaper dearer costlier", "better worse",
)  # fmt: skip
_EQUALLY = frozenset(("as", "same", "equal", "equally", "both", "alike"))
_SAME = {"earlier": "before", "sooner": "before", "later": "after"}
_NEARLY = frozenset(("almost", "nearly", "hardly", "barely"))


def _is_opposite(one: str, other: str) -> bool:
    pairs = [each.split() for each in _OPPOSITES]
    return any((one == first and other in rest) or (other == first and one in rest) for first, *rest in pairs)


def is_comparative(text: str) -> bool:
    return text in _SAME or any(text in pair.split() for pair in _OPPOSITES)


def _comparatives(words: Sequence[Word]) -> list[int]:
    """Places of what compares: "longer", the "more" of "more expensive than", "before"."""
    found = [
        place
        for place, word in enumerate(words)
        if is_comparative(word.text)
        or (word.text.endswith("er") and [each.text for each in words[place + 1 : place + 2]] == ["than"])
    ]
    return found


class Comparison:
    """A question whether one of two is more than the other."""

    def __init__(self, question: str) -> None:
        words = [each for each in tokens(question.partition("?")[0]) if isinstance(each, Word)]
        places = _comparatives(words)
        is_one = len(places) == 1 and bool(re.search(r"\bthan\b|\bbefore\b|\bafter\b", question))
        self.word = _SAME.get(words[places[0]].text, words[places[0]].text) if is_one else ""
        is_time = self.word in _TIMES
        left = _names(words[1 : places[0]], is_time) if is_one else set()
        right = _names(words[places[0] :], is_time) if is_one else set()
        self.left, self.right = left - right, right - left

    @property
    def is_one(self) -> bool:
        return bool(self.word and self.left and self.right)

    def says(self, clause: Clause) -> str:
        """yes, no, unclear, or nothing where a clause does not compare them."""
        texts = clause.texts
        sides = [self._side(text) for text in texts]
        places = _comparatives(clause.words)
        if set(texts) & _EQUALLY and set(sides) & {"left", "right"} and not places:
            return "no"
        if not places or (not any(sides) and self.word not in texts):
            return ""
        word = _SAME.get(texts[places[0]], texts[places[0]])
        if len(places) > 1 or _NEARLY & set(texts) or "no" in texts[: max(places[0] - 1, 0)]:
            return UNCLEAR
        place = places[0]
        subject = next((side for side in sides[:place] if side), "")
        object_ = next((side for side in sides[place:] if side), "")
        if subject and subject == object_:
            return UNCLEAR
        if not subject and set(texts[place:]) & COPULAS and not {"than", *_TIMES} & set(texts):
            subject = object_  # "the older one is the Rett bridge"
        subject = subject or {"left": "right", "right": "left"}.get(object_, "left")
        if word != self.word and not _is_opposite(word, self.word):
            return UNCLEAR
        is_said = (word == self.word) == (subject == "left")
        if not NEGATIONS & set(texts) - {"no"} and not (texts[place - 1 : place] == ["no"] and place):
            return "yes" if is_said else "no"
        return "no" if is_said else UNCLEAR  # "not longer" may be as long

    def _side(self, text: str) -> str:
        if text in self.left:
            return "left"
        return "right" if text in self.right else ""


def _names(words: Sequence[Word], are_names: bool) -> set[str]:
    """Of two that are compared; before and after compare such as have names."""
    found = {word.text for word in words if word.capital and word.text not in FRAMES}
    if found or are_names:
        return found
    return {word.text for word in words if word.text not in FRAMES and len(word.text) > 3} - names.SMALL


def runs_of(question: str) -> list[set[str]]:
    """The names of a question, each as its words."""
    found: list[list[str]] = []
    is_run = False
    for number, item in enumerate(tokens(question)):
        is_name = isinstance(item, Word) and item.capital and number > 0 and item.text not in FRAMES
        if is_name and isinstance(item, Word):
            found = [*found[:-1], [*found[-1], item.text]] if is_run else [*found, [item.text]]
        is_run = is_name
    return [set(run) for run in found]


def is_told_otherwise(clause: Clause, runs: Sequence[set[str]], asked: set[str]) -> bool:
    """Whether it says something of the names of a question in another order, of the second alone, or in other words:
    "Ida beat Rhea", "Ida won", "Rhea lost to Ida" and "Rhea was beaten by Ida" of whether Rhea beat Ida."""
    unique = [run - set().union(*(each for each in runs if each is not run)) for run in runs]
    order = [number for text in clause.texts for number, run in enumerate(unique) if text in run]
    if not order:
        return False
    order = [each for place, each in enumerate(order) if place == 0 or each != order[place - 1]]
    begins = clause.words[0].text in unique[order[0]] or clause.texts[0] in names.ARTICLES
    if len(order) == 1:
        return order[0] > 0 and begins
    if order != sorted(order) or order[0] > 0 or ("by" in clause.texts and "by" not in asked):
        return True
    return not any(names.akin(text, each) for text in clause.texts for each in asked - FRAMES - set().union(*runs))
