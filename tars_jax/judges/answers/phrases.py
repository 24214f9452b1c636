"""Whether words of a question that are said again around an answer stand together as the question has them.

A word by itself says nothing of what it did in the question: "the lake is Geneva" has the words of "the nearest city to
the lake", and "120 in an hour" those of "in half an hour". So a word that the question has behind "to", "than", "half"
stands behind the same again; what stands behind "in" or "of" is what stood there, or the question's subject; and two
things that stand side by side do so in the question.
"""

from __future__ import annotations

import itertools

from tars_jax.judges.answers.names import ARTICLES
from tars_jax.judges.answers.questions import AUXILIARIES, FREE, NEGATIONS, PREPOSITIONS, TURNS, ParsedQuestion
from tars_jax.judges.answers.words import folded

_PLACES = frozenset(["of", "in", "on", "at"])  # said for each other: the capital of Peru, the capital in Peru
_CHANGES = TURNS - NEGATIONS - {"or", "and", "but", "if"} | PREPOSITIONS  # negations are counted elsewhere
_ASKING = frozenset(["who", "whom", "whose", "what", "which", "why", "how"])
_SILENT = ARTICLES | AUXILIARIES - FREE
_PARTED = frozenset([",", ":", "="])


def are_said_as_asked(before: list[str], after: list[str], question: ParsedQuestion) -> bool:
    """`before` and `after`: the words and signs on both sides of an answer, as written."""
    return all(_is_side(side, question, is_first=side is before) for side in (before, after))


def _is_side(side: list[str], question: ParsedQuestion, *, is_first: bool) -> bool:
    small = [folded(each) for each in side]
    said = [each for each in small if each not in _SILENT]
    if _ASKING & set(said):
        return False
    named = {word for article, word in itertools.pairwise(small) if article in ARTICLES}  # the country
    for place, word in enumerate(said):
        bare = word.removesuffix("'s")
        if word in FREE | _PARTED | _CHANGES | NEGATIONS or not question.has(bare):
            continue
        own = question.before(bare)
        previous, following = said[place - 1] if place else "", said[place + 1] if place + 1 < len(said) else ""
        if not own or (question.is_asked_for(following) and following not in named):
            continue  # a word of measure; the circled numbers
        if previous in _CHANGES:
            if (word != bare and place == len(said) - 1) or not _goes_with(previous, own, question):
                return False
        elif own <= _CHANGES:
            is_owner = (
                _owns(said[place:], question) or (place == 0 and is_first) or (place == 1 and previous == ",")
            )  # Paris, France
            if not ((is_owner and own & _PLACES) or question.joins(following, bare)):
                return False
        elif not _may_follow(said, place, own, question, is_named=word in named):
            return False
    return True


def _owns(said: list[str], question: ParsedQuestion) -> bool:
    """Whether the words are possessive: Anna Berg's."""
    names = itertools.takewhile(lambda each: each.removesuffix("'s") in question.names, said)
    return said[0].endswith("'s") or any(each.endswith("'s") for each in names)


def _goes_with(change: str, own: set[str], question: ParsedQuestion) -> bool:
    """Whether what stands behind "to" may: as in the question, or of its subject, or as what is compared."""
    if any(change == each or {change, each} <= _PLACES for each in own):
        return True
    if own <= _CHANGES:
        return False
    return change == "of" or (change == "in" and question.ends_with("have")) or (change == "than" and question.offers)


def _may_follow(said: list[str], place: int, own: set[str], question: ParsedQuestion, *, is_named: bool) -> bool:
    """Whether the word at `place` may follow the one before it."""
    previous, word = said[place - 1] if place else "", said[place]
    bare = previous.removesuffix("'s")
    if previous in FREE | _PARTED | NEGATIONS | {""} or previous != bare or not question.has(bare):
        return True
    is_asked_for = question.is_asked_for(word) and not is_named
    if question.is_asked_for(previous) or is_asked_for or not question.before(bare) or question.joins(word, bare):
        return True
    if place == 1 and question.ends_with(previous):
        return True  # today the factory makes
    if any(each in _CHANGES for each in said[max(place - 3, 0) : place - 1]):
        return True  # the first one ends another phrase: in 1953 translated
    return any(question.is_same(bare, each) for each in own) or word in question.after(bare)
