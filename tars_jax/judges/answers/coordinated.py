"""Names of the question that stand beside the reference as answers, too: "Dravia, Torland and Beskia".

The words of a question are free in an answer, which may say it again ("Dravia borders both Torland and Beskia"). A name
of it that an answer joins to the reference is another answer, whether the question offers it or not.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from tars_jax.judges.answers import names
from tars_jax.judges.answers.clauses import Clause
from tars_jax.judges.answers.speech import FRAMES, JOINS, KINDS, LANDFORMS, NEGATIONS, TITLES
from tars_jax.judges.answers.words import Word

_PLACING = frozenset(("in", "of", "by", "from", "at", "on", "for", "the", "near"))
_ADDING = frozenset(("also", "plus", "well", "as", "both", "but", "with", "along", "together"))
_DOUBTING = frozenset(("either", "maybe", "perhaps", "possibly", "rather"))
_SAYING = frozenset(("it", "is", "was", "ie"))
_LISTING = _SAYING | _PLACING | names.ARTICLES | JOINS | _ADDING | _DOUBTING
_TIGHT = frozenset(("and", "or", "/", "|"))
_LOOSE = frozenset((",", ";", "\n", "."))
_OF = r"(?:of|in|of the|in the) {}\b"


def joined_name(clauses: Sequence[Clause], named: Sequence[str], question: str) -> str:
    """The first name of the question that is joined to the reference; nothing where none is."""
    return (
        _coordinated(clauses, named, question)
        or _listed(clauses, named, question)
        or _done_by(clauses, named, question)
    )


def _done_by(clauses: Sequence[Clause], named: Sequence[str], question: str) -> str:
    """ "Estrada was bought by Nordlin", of who bought Nordlin."""
    if re.search(r"\bby\b", question):
        return ""
    for clause in clauses:
        after = clause.words[clause.right[0][1] :] if clause.right else []
        for word, agent in itertools.pairwise(after):
            if word.text == "by" and any(names.akin(agent.text, each) for each in named):
                return agent.raw
    return ""


def _listed(clauses: Sequence[Clause], named: Sequence[str], question: str) -> str:
    """Of an answer that only lists, and nothing but "in", brackets or a colon says what the other name is for."""
    rest = {
        word.text
        for clause in clauses
        for place, word in enumerate(clause.words)
        if not any(start <= place < end for start, end in clause.right)
        and not any(names.akin(word.text, each) for each in named)
    }
    if rest - _LISTING:
        return ""
    for clause in clauses:
        covered = {place for start, end in clause.right for place in range(start, end)}
        for place, word in enumerate(clause.words):
            is_place = bool(set(clause.texts[:place]) & (_PLACING - {"the"}))
            is_name = word.text not in FRAMES | KINDS | TITLES and any(names.akin(word.text, each) for each in named)
            is_said = clause.is_negated or word.is_possessive or is_place or clause.after == "="
            if place in covered or not is_name or is_said:
                continue
            is_apart = clause.before in (",", "(") or clause.after in ("(", ":")
            is_code = any(names.is_code(each.raw) for each in (word, *_right_words(clauses))) or len(word.raw) < 3
            is_of_it = bool(re.search(_OF.format(re.escape(word.raw)), question, re.IGNORECASE))
            if not (is_apart and not clause.right and (is_of_it or (is_code and clause.before != ","))):
                return word.raw
    return ""


def _right_words(clauses: Sequence[Clause]) -> list[Word]:
    return [word for clause in clauses for start, end in clause.right for word in clause.words[start:end]]


def _coordinated(clauses: Sequence[Clause], named: Sequence[str], question: str) -> str:
    for before, after in itertools.pairwise(clauses):
        for one, other, is_after in ((before, after, True), (after, before, False)):
            if not one.right or other.right or other.is_negated or set(other.texts) & NEGATIONS:
                continue
            touches = one.right[-1][1] == len(one.words) if is_after else one.right[0][0] == _articles(one)
            name = _name_at(other, named, is_first=is_after)
            if not touches or not name:
                continue
            is_whole = len(other.words) - _articles(other) == len(name)
            place = " ".join(word.raw for word in name)
            is_of_it = re.search(_OF.format(re.escape(place)), question, re.IGNORECASE)
            if after.before in _TIGHT or (
                after.before in _LOOSE
                and is_whole
                and not (is_after and after.before == "," and is_of_it and after is clauses[-1])
            ):
                return place
    return ""


def _articles(clause: Clause) -> int:
    return int(clause.texts[0] in names.ARTICLES and len(clause.words) > 1)


def _name_at(clause: Clause, named: Sequence[str], *, is_first: bool) -> list[Word]:
    """The words of a name of the question with which a clause begins or ends."""
    words = clause.words[_articles(clause) :]
    found: list[Word] = []
    for word in words if is_first else reversed(words):
        is_name = (
            word.capital and word.text not in FRAMES - KINDS and any(names.akin(word.text, each) for each in named)
        )
        if not is_name or word.is_possessive:
            break
        found.append(word)
    found = found if is_first else found[::-1]
    return found if any(word.text not in KINDS | LANDFORMS for word in found) else []
