"""Forms of answers that questions ask for: yes or no, a list in its order, a symbol, a word as it is written, a day."""

from __future__ import annotations

import re

_ASKING = r"(?:who|whom|whose|what|which|when|where|why|how)"
_POLAR = re.compile(
    r"(?:^|[,:;] (?:and |or |but )?)"
    r"(?:is|was|are|were|has|have|had|does|do|did|will|would|can|could|should|may|must|might)\b",
    re.IGNORECASE,
)
_SAYS_POLES = re.compile(r"\b(?:yes or no|yes/no|true or false|whether)\b", re.IGNORECASE)
_THING = re.compile(rf"\b{_ASKING}\b|^(?:name|list|give|identify|find|state|tell)\b", re.IGNORECASE)
_ORDER = re.compile(
    r"\b(?:order(?:ed)?|rank(?:ed|ing)?|sort(?:ed)?|respective(?:ly)?|chronological(?:ly)?|alphabetical(?:ly)?|ascending"
    r"|descending|sequence)\b",
    re.IGNORECASE,
)
_RANK = r"(?:first|second|third|fourth|fifth|last|next)"
_TWO = (
    rf"\b{_ASKING}\b[^?]*?\band (?:(?:in|on|at|by|for|with|to|from) )?{_ASKING}\b"
    r"|\b(?:is|are|was|were|name|give|list|state) the [\w'-]+ and (?:the )?[\w'-]+(?= (?:of|in|for|at|on)\b|[?,.]|$)"
)
_MOST = r"(?:[a-z]{2,}est|most|least|best|worst)"
_IN_TURN = re.compile(
    r"\bfrom (?!\d)[^?]*?\b(?:to|until|outwards?|inwards?|onwards?|upwards?|downwards?)\b"
    rf"|\b{_RANK}\b[^?]*?(?:,|\band\b)[^?]*?\b{_RANK}\b"
    rf"|\b{_MOST}\b[^?]*?\band (?:the |an? )?(?:\w+ )?{_MOST}\b|\b{_MOST} first\b"
    r"|\b(?:starting|beginning) (?:with|from|at)\b|\b(?:outside in|inside out|top down|bottom up)\b"
    r"|\b(?:list|name|give)\b[^?]*\bby (?:\w+ of|date|age|size|length|height|population|area|weight|year|number)\b"
    r"|\bwhen\b[^?]*\b\w+ed and \w+ed\b"
    rf"|{_TWO}",
    re.IGNORECASE,
)
_SYMBOL = re.compile(r"\b(?:symbols?|units?|codes?|prefix(?:es)?|formula[es]?|abbreviat\w+|notation)\b", re.IGNORECASE)
_IS_SYMBOL = re.compile(r"[^\W\d_]{1,3}|(?=.*[A-Z])(?:[A-Z][a-z]?|[\d()+^·.-])+")
_WRITTEN = re.compile(r"\b(?:words?|letters?|spelt|spell(?:ed|ing)?|written|accents?)\b", re.IGNORECASE)
_DAY = re.compile(r"\b(?:when|date[sd]?|days?|weekdays?|months?)\b(?!-)", re.IGNORECASE)
_PAIR = re.compile(_TWO, re.IGNORECASE)


def is_polar(question: str) -> bool:
    """Whether yes or no may answer it; "Which band recorded it?" has an answer that only reads so."""
    sentences, asking = _sentences(question)
    asked = sentences[asking[-1]] if asking else question.strip()
    return bool(_SAYS_POLES.search(question) or _POLAR.search(asked)) or not _THING.search(asked)


def asked_part(question: str) -> str:
    """The last sentence that asks, with what follows: what stands before it may only tell which thing is meant."""
    sentences, asking = _sentences(question)
    return " ".join(sentences[asking[-1] :]) if asking else question


def _sentences(question: str) -> tuple[list[str], list[int]]:
    """All, and which of them ask."""
    sentences = re.split(r"(?<=[.?!])\s+", question.strip())
    return sentences, [n for n, each in enumerate(sentences) if each.endswith("?")]


def asks_order(question: str) -> bool:
    """Whether a question asks for an order in so many words."""
    return bool(_ORDER.search(question))


def asks_in_turn(question: str) -> bool:
    """Whether the items of a list answer parts of it one by one: the oldest and the youngest, from west to east."""
    return bool(_IN_TURN.search(question))


def asks_pair(question: str) -> bool:
    """Whether a question asks for two things: who discovered it, and in which year; the width and the height."""
    return bool(_PAIR.search(question))


def asks_day(question: str) -> bool:
    return not question or bool(_DAY.search(question))


def is_written_alike(said: str, reference: str, question: str) -> bool:
    """Whether two ways to say a name are one where the question asks for a symbol, whose capitals count (Co is no CO),
    or for a word as it is written, whose accents count."""
    own, target = (re.sub(r"[\W\d_]", "", each) for each in (said, reference))
    if asks_symbol(reference, question):
        return own == target
    return not _WRITTEN.search(question) or own.casefold() == target.casefold()


def asks_symbol(reference: str, question: str) -> bool:
    """A code of three capitals or more is another in no other letters: lhr is LHR, but no is not NO."""
    letters = re.sub(r"[\W\d_]", "", reference)
    is_long_code = len(letters) > 2 and letters.isupper() and re.search(r"\bcode\b", question, re.IGNORECASE)
    return bool(_SYMBOL.search(question) and _IS_SYMBOL.fullmatch(reference)) and not is_long_code
