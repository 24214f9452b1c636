"""Roles, who did it to whom: whether a sentence gives an answer the place that the question asks for.

"Which animals do lions hunt?" asks for what is hunted, so that "lions are hunted by zebras" is no answer, and "who was
Kant a student of?" for whose student he was, so that "Knutzen was a student of Kant" is none.
"""

from __future__ import annotations

from tars_jax.judges.answers.names import ARTICLES
from tars_jax.judges.answers.questions import (
    AUXILIARIES,
    BE,
    COPULAS,
    FREE,
    NEGATIONS,
    PREPOSITIONS,
    ParsedQuestion,
    is_participle,
)
from tars_jax.judges.answers.words import vocabulary

_ASKING = frozenset(["who", "whom", "whose", "what", "which", "when", "where", "why", "how", "that"])
BETWEEN = vocabulary("not never ever also first last once then later still already finally both all")
_PLACES = frozenset(["in", "on", "at"])


def asks_agent(before: list[str], question: ParsedQuestion) -> bool:
    """Whether what stands behind "by" is asked for. `before`: the words up to it, folded."""
    if "by" in question.order or question.asks_by:
        return "by" in question.asks_by
    place = max((n for n, each in enumerate(before) if each in COPULAS), default=-1)
    if any(question.is_asked_for(each) for each in before[: max(place, 0)]):
        return False  # the director was directed by
    if before[place + 1 : place + 2] and before[place + 1] in ARTICLES:
        return not question.is_done_to  # it is a play by her
    told = (each for each in before[place + 1 :] if each not in FREE | PREPOSITIONS and question.has(each))
    verb = next(told, "")
    return _is_doer(verb, question) if verb else not question.is_done_to


def _is_doer(verb: str, question: ParsedQuestion) -> bool:
    """Whether what is asked for does what a verb says: nothing else stands before it, as in "which animals do lions
    hunt", and it is not done to it, as in "which city was sacked"."""
    order = question.order
    place = next((n for n, own in enumerate(order) if question.is_same(verb, own)), None)
    if place is None:
        return not question.is_done_to
    start = max((n for n, each in enumerate(order[:place]) if each in _ASKING), default=-1)
    between = [each for each in order[start + 1 : place] if each not in BETWEEN and not each.endswith("ly")]
    helper = next((n for n, each in enumerate(between) if each in AUXILIARIES), None)
    if helper is None:
        is_first = start == next((n for n, each in enumerate(order) if each in _ASKING), -1)
        return not between or (is_first and not ARTICLES & set(between))
    if between[helper] in BE and order[place].endswith(("er", "or")) and verb != order[place]:
        return True  # directed by, of "who was the director"
    if [each for each in between[helper + 1 :] if each not in AUXILIARIES]:
        return False
    return not BE & set(between) or order[place].endswith("ing")


def _is_noun_of_verb(word: str, question: ParsedQuestion) -> bool:
    bare = word.removesuffix("'s").removesuffix("s")
    is_noun = bare.endswith(("er", "or", "ion", "ment")) and not {bare, f"{bare}s"} & {*question.order}
    return is_noun and question.has(bare)


def stands_where_asked(before: list[str], after: list[str], question: ParsedQuestion) -> bool:
    """Whether an answer is where the question asks for it: not before a verb that the question has in the passive; and
    of one that ends with a preposition, behind that, or no more is said than what it is. `before` and `after`: the
    words on both sides of the answer, folded."""
    if question.auxiliary in BE and after and after[0] in question.order and is_participle(after[0]):
        return False  # Ann named the ship, of "after whom was the ship named"
    if question.is_done_to and any(_is_noun_of_verb(each, question) for each in (*before, *after)):
        return False  # Ann's teacher was Bo, of "who did Ann teach"
    if not question.strands:
        return True
    silent = FREE | NEGATIONS | AUXILIARIES | question.things
    if not any(question.has(each) and each not in silent for each in (*before, *after)):
        return True
    told = [each for each in before if each not in ARTICLES]
    if after[-1:] == [question.strands] or (told[-1:] and told[-1] in COPULAS and told[-2:-1] == [question.strands]):
        return True
    is_place = question.strands in _PLACES and told[-1:] and told[-1] in _PLACES
    return told[-1:] == [question.strands] or bool(is_place)
