"""What an answer says beside the reference that keeps it from being one: it asks, it does not know, it weakens.

    Was it 1871?      I cannot find it. Kolmar is a city.      It plans to make wire.      €49.90 was the old price.

These are looked for in an answer that its clauses would have taken. Words that the question or the reference has are
none.
"""

from __future__ import annotations

import re

# Refused: who says so has no answer.
_UNKNOWING = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"\b(?:(?:do|did|does|could|can|was|were|am|would)(?:n't| not)|cannot|can't|unable to|not able to)"
        r"(?: \w+)? (?:know|find|found|determine|verify|tell|answer|locate|establish|confirm|work out)\b(?! out\b)",
        r"\b(?:page|article|source|text|site|it|infobox)s? (?:(?:does|do) not|doesn't)"
        r" (?:say|tell|state|mention|give)\b",
        r"\b(?:no (?:information|record)s? (?:about|on|of|is|was|found|available)|hard to (?:say|tell))\b",
        r"\b(?:no (?:idea|clue|answer (?:was )?found)|give up|(?:nobody|no one|who) knows)\b",
        r"\b(?:(?:am|i'm|just|only|merely|pure) guess(?:ing|work)?|is (?:just |only )?a (?:\w+ )?guess)\b",
        r"\bdoubt (?:it|that)\b",
        r"(?:\A|[.;!]\s*|\b(?:is|are|was) )(?:not (?:known|given|stated|found)|unknown|unclear)\b",
    )
)
# Cannot say: what is said of it then has to be understood.
_WEAKENING = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"\b(?:unless|depending on|disputed|contested|one of the|supposedly|allegedly)\b",
        r"(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bbe )\bused to\b(?= [a-z])",
        r"\b(?:refus|fail|plan|hop|intend|want|attempt|stopp|ceas|declin|aim|threaten)(?:e|ed|es|s|ing|ned|ning)?"
        r" (?:to|from|making|being)\b",
        r"\b(?:will|shall|won't)\b(?! (?:say|go|answer|choose|pick|assume|be (?:graded|judged|scored|accepted)))",
        r"\b(?:would|could|might|should|(?-i:may))\b"
        r"(?! (?:be|have|find|see|tell|say|go|answer|guess|think|assume|choose|pick|seem|appear|like|not)\b)",
        r"\b(?:and|or|,|/) (?:(?:some|many|several|the|possibly|two|three) )?(?:others?|more|et al|etc|co)\b",
        r"\band (?:his|her|their) [a-z]",
        r"\b(?:the|its?|an?) (?:old|previous|former|original|earlier|planned) (?=[a-z])",
        r"\bi (?:was|am) (?:wrong|mistaken)\b",
        r"(?<![\d/.])[12]\d{3}/\d{2}(?![\d/])",
        r"\A\W*(?:since|from)\b(?! (?:what|my|the)\b)(?!.*(?:\bto\b|\bun?till?\b|[-;]))",
        r"(?-i:\babout [A-Z])|\b(?:is|was) where (?:it|he|she|they)\b",
        r"\bco-?(?:founded|wrote|written|authored|designed|directed|built)\b",
        r": (?:part|volume|vol|book|chapter|episode|season) (?:\w+)\b",
    )
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n")
_QUOTED = re.compile(r"\"([^\"\n]{1,80})\"(?=\s*(?:is|was|isn't|wasn't|are|would)\b)", re.IGNORECASE)
_DENIED = re.compile(r"(n't|\b(?:not|never|neither|nor|no))((?: [a-z]+){0,3}) \"([^\"\n]{1,80})\"", re.IGNORECASE)


def without_quotes(said: str) -> str:
    """Of what a sentence says something: not "Edda Holm", "yes" is wrong."""
    return _QUOTED.sub(r"\1", _DENIED.sub(r"\1\2 \3", said))


def statements(said: str) -> str:
    """Without the sentences that ask."""
    if "?" not in said:
        return said
    return " ".join(each for each in _SENTENCE.split(said) if not each.rstrip("\"') ").endswith("?"))


def knows(said: str, known: str) -> bool:
    """Whether it does not say that it does not know; `known` is the question with the reference."""
    return not any(form.search(said) and not form.search(known) for form in _UNKNOWING)


def weakened(said: str, known: str) -> str:
    """What in it weakens it; nothing where there is none."""
    found = (form.search(said) for form in _WEAKENING if not form.search(known))
    return next((match[0].strip() for match in found if match), "")
