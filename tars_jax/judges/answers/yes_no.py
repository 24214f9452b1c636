"""Whether an answer says yes or no: in so many words, or by saying again what the question says."""

from __future__ import annotations

import re

from tars_jax.judges.answers.question_forms import is_polar
from tars_jax.judges.answers.questions import COPULAS, NEGATIONS, PREPOSITIONS, TURNS, ParsedQuestion
from tars_jax.judges.answers.words import canonical, folded, words

_POLES = {
    **dict.fromkeys(("yes", "yep", "yeah", "yup", "true", "affirmative", "indeed"), "yes"),
    **dict.fromkeys(("no", "nope", "nah", "false"), "no"),
}  # fmt: skip
_POLAR = re.compile(rf"({'|'.join(_POLES)})\b(?:\s*[,;.:!-]+\s*(.*))?", re.IGNORECASE | re.DOTALL)
_AUXILIARIES = COPULAS | frozenset(("do", "does", "did"))
_PRONOUNS = frozenset(["it", "they", "he", "she", "we", "i", "you", "there", "that", "this"])
_SMALL = frozenset(["a", "an", "the", "in", "on", "at", "of", "its", "his", "her", "their"]) | _PRONOUNS
_PAST, _PRESENT = frozenset(["was", "were", "had", "did"]), frozenset(["is", "are", "has", "have", "does", "do"])
_WHETHER = re.compile(
    r"(?:is|was|are|were|has|have|had|does|do|did|will|would|can|could|should|may|must)\b", re.IGNORECASE
)


def as_yes_or_no(reference: str, question: str) -> str:
    """yes or no, of a reference that is that alone or gives its reason after it: "No, it was refused"."""
    match = _POLAR.fullmatch(canonical(reference))
    if match is None or (match[2] and not _WHETHER.match(question)) or not is_polar(question):
        return ""
    return _POLES[match[1].casefold()] if match[1].casefold() != "indeed" else ""


def polarity(said: str, reference: str, question: ParsedQuestion) -> str:
    """yes or no, where all of an answer says so; "other" where a part of it is not understood; empty: neither."""
    said = canonical(re.sub(r"\b(ca|wo|sha)n't\b", r"\1n not", said, flags=re.IGNORECASE)).replace("n't", " not")
    match = _POLAR.fullmatch(said)
    own = _POLAR.fullmatch(canonical(reference))
    reason = canonical(own[2] or "").casefold() if own else ""
    if match is None:
        return _clause(said, question)
    pole = _POLES[match[1].casefold()]
    rest = re.split(r"[,;]\s+|\.\s+|\n", match[2]) if match[2] else []
    if match[2] and canonical(match[2]).casefold() == reason:
        return pole
    return pole if all(_clause(each, question, is_told=True) == pole for each in rest) else f"{pole}, other"


def _clause(said: str, question: ParsedQuestion, *, is_told: bool = False) -> str:
    """yes or no, of a clause in the question's own words, in their order: "it is not", "the bridge is older".

    `is_told`: it stands behind the word itself."""
    texts = [said[start:end] for start, end in words(canonical(said))]
    small = [folded(each) for each in texts]
    denied = sum(each in NEGATIONS for each in small)
    if not texts or denied > 1 or question.negations or not set(small) & (_AUXILIARIES | set(question.order)):
        return _shortly(small)
    kept = [each for each in small if each not in _SMALL | _AUXILIARIES | NEGATIONS]
    asked = [each for each in question.order if each not in _SMALL | _AUXILIARIES]
    if set(small) & _PAST and set(question.order) & _PRESENT and not set(question.order) & _PAST:
        return ""  # "it was open"
    places: list[int] = []
    for each, raw in zip(small, texts, strict=True):
        if each in kept:
            rest = list(enumerate(asked))[places[-1] + 1 if places else 0 :]
            place = next((n for n, word in rest if word == each or question.is_form(raw, word)), None)
            if place is None:
                return ""
            places.append(place)
    if places and (small[0] in _AUXILIARIES or not _is_all_of_it(places, asked, question, is_told or denied > 0)):
        return ""  # Anna is Bob, of "is Anna taller than Bob"
    is_subject = small[0] in _PRONOUNS or small[0] == "not"
    if places and not is_subject and places[0] != 0:
        return ""
    if not places and not set(small) & _AUXILIARIES:
        return _shortly(small)
    return "no" if denied else "yes"


def _is_all_of_it(places: list[int], asked: list[str], question: ParsedQuestion, is_sure: bool) -> bool:
    """Whether words leave nothing out but what is compared with ("than Bob"); or, where they are sure, another phrase.

    "She was born" says nothing of where."""
    first, last = places[0], places[-1]
    if places != list(range(first, last + 1)):
        return False
    if last == len(asked) - 1:
        return True
    parting = (PREPOSITIONS | _SMALL) - TURNS if is_sure else frozenset()
    parting |= {"than"}
    rest = [each for each in question.order if each not in _AUXILIARIES]
    cuts = [n for n in range(1, len(rest)) if [each for each in rest[:n] if each not in _SMALL] == asked[: last + 1]]
    return asked[last] not in PREPOSITIONS | TURNS and any(rest[n] in parting for n in cuts)


def _shortly(small: list[str]) -> str:
    return "no" if small in (["not", "at", "all"], ["unfortunately", "not"], ["definitely", "not"]) else ""
