"""Closed forms of a model's answers. Anything else is unreadable: "unsuccessful" never reads as success.

Each form is the last line of the answer, or the last sentence on it, so that reasoning comes before it and cannot be
mistaken for it. Around it may stand what models put there: headings, emphasis, quotation marks, a new line after the
colon. A score may also come first, as it decides nothing alone. An answer that has the form twice, with different
words, says neither, whatever stands between.
"""

from __future__ import annotations

import re

from tars_jax.judges.judge import UnreadableVerdict

VERDICT_FORM = "VERDICT: SUCCESS or VERDICT: FAILURE"
SCORE_FORM = "SCORE: 1 to SCORE: 5"
FACT_FORM = "FACT: YES n, with the number n of the observation that shows it, or FACT: NO"
ANSWER_FORM = "ANSWER: CORRECT or ANSWER: INCORRECT"
_VERDICT = re.compile(r"verdict: (success|failure)\b", re.IGNORECASE)
_SCORE = re.compile(r"score: ([1-5])\b", re.IGNORECASE)
_FACT = re.compile(r"fact: (?:(no)|yes (\d{1,4}))\b", re.IGNORECASE)
_ANSWER = re.compile(r"answer: (correct|incorrect)\b", re.IGNORECASE)
_BROKEN = re.compile(r"^[#*\s]*(verdict|score|fact|answer):?[*\s]*\n\s*", re.IGNORECASE | re.MULTILINE)
_POINT = re.compile(r"\s*\d{1,3}[.)]\s+(\S.*)")
_BULLET = re.compile(r"\s*[-*•]\s+(\S.*)")


def read_verdict(text: str) -> bool:
    """Raises UnreadableVerdict for another form, and where the opposite is said, too."""
    return _last_line(text, _VERDICT, VERDICT_FORM)[1].casefold() == "success"


def read_answer(text: str) -> bool:
    """Whether an answer is right. Raises UnreadableVerdict as `read_verdict` does."""
    return _last_line(text, _ANSWER, ANSWER_FORM)[1].casefold() == "correct"


def read_score(text: str) -> int:
    """Of 1 to 5: the last line, or the only one of this form. Raises UnreadableVerdict for another form, and for two
    scores."""
    found = [match for line in _lines(text) if (match := _final(_SCORE, line))]
    return int((_one_of(text, _SCORE, found[0]) if len(found) == 1 else _last_line(text, _SCORE, SCORE_FORM))[1])


def read_fact(text: str, observations: int) -> int | None:
    """The number of the observation that shows the fact; None where it does not hold.

    Raises UnreadableVerdict for another form, where something else is said, too, and for an observation that there is
    not.
    """
    found = _last_line(text, _FACT, FACT_FORM)
    if found[1]:
        return None
    number = int(found[2])
    if not 1 <= number <= observations:
        raise UnreadableVerdict(f"a fact must be shown by observation 1 to {observations}; got {number}")
    return number


def read_points(text: str) -> list[str]:
    """Numbered lines, or bullets where no line is numbered. Raises UnreadableVerdict where there is neither."""
    for form in (_POINT, _BULLET):
        if points := [match[1].strip() for line in text.splitlines() if (match := form.fullmatch(line))]:
            return points
    raise UnreadableVerdict(f"key points must be numbered lines; got {text!r:.200}")


def _last_line(text: str, form: re.Pattern[str], wanted: str) -> re.Match[str]:
    lines = _lines(text)
    found = _final(form, lines[-1]) if lines else None
    if found is None:
        raise UnreadableVerdict(f"a judge's last line must be {wanted}; got {lines[-1] if lines else ''!r:.100}")
    return _one_of(text, form, found)


def _one_of(text: str, form: re.Pattern[str], found: re.Match[str]) -> re.Match[str]:
    """`found`, where the text says nothing else in that form."""
    said = {match[0].casefold() for line in _lines(text) for match in form.finditer(line)}
    if len(said) > 1:
        raise UnreadableVerdict(f"a judge must give one verdict; got {' and '.join(sorted(said))} in {text!r:.200}")
    return found


def _final(form: re.Pattern[str], line: str) -> re.Match[str] | None:
    """The form as the whole line, or as its last sentence."""
    return form.fullmatch(line) or form.fullmatch(re.split(r"[.!?] ", line)[-1])


def _lines(text: str) -> list[str]:
    """Those that are not empty, without Markdown's signs, quotation marks, a final stop and double spaces."""
    joined = _BROKEN.sub(r"\1: ", text)
    plain = (re.sub(r"[*`\"“”]|^\s*#+", "", line) for line in joined.splitlines())
    return [" ".join(line.split()).removesuffix(".") for line in plain if line.strip()]
