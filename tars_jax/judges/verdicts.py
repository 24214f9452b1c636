"""Closed forms of a model's answers. Anything else is unreadable: "unsuccessful" never reads as success.

Each form is the whole last line of the answer, so that reasoning comes before it and cannot be mistaken for it.
"""

from __future__ import annotations

import re

from tars_jax.judges.judge import UnreadableVerdict

VERDICT_FORM = "VERDICT: SUCCESS or VERDICT: FAILURE"
SCORE_FORM = "SCORE: 1 to SCORE: 5"
FACT_FORM = "FACT: YES n, with the number n of the observation that shows it, or FACT: NO"
ANSWER_FORM = "ANSWER: CORRECT or ANSWER: INCORRECT"
_VERDICT = re.compile(r"verdict: (success|failure)", re.IGNORECASE)
_SCORE = re.compile(r"score: ([1-5])", re.IGNORECASE)
_FACT = re.compile(r"fact: (?:(no)|yes (\d{1,4}))", re.IGNORECASE)
_ANSWER = re.compile(r"answer: (correct|incorrect)", re.IGNORECASE)
_POINT = re.compile(r"\s*(\d{1,3})[.)]\s+(\S.*)")


def read_verdict(text: str) -> bool:
    """Raises UnreadableVerdict for another form, and where an earlier line says the opposite."""
    return _only(text, _VERDICT, VERDICT_FORM) == "success"


def read_answer(text: str) -> bool:
    """Whether an answer is right. Raises UnreadableVerdict as `read_verdict` does."""
    return _only(text, _ANSWER, ANSWER_FORM) == "correct"


def read_score(text: str) -> int:
    """Of 1 to 5. Raises UnreadableVerdict for another form."""
    return int(_last_line(text, _SCORE, SCORE_FORM)[1])


def read_fact(text: str, observations: int) -> int | None:
    """The number of the observation that shows the fact; None where it does not hold.

    Raises UnreadableVerdict for another form, and for an observation that there is not.
    """
    found = _last_line(text, _FACT, FACT_FORM)
    if found[1]:
        return None
    number = int(found[2])
    if not 1 <= number <= observations:
        raise UnreadableVerdict(f"a fact must be shown by observation 1 to {observations}; got {number}")
    return number


def read_points(text: str) -> list[str]:
    """Numbered lines. Raises UnreadableVerdict where there is none."""
    points = [match[2].strip() for line in text.splitlines() if (match := _POINT.fullmatch(line))]
    if not points:
        raise UnreadableVerdict(f"key points must be numbered lines; got {text!r:.200}")
    return points


def _only(text: str, form: re.Pattern[str], wanted: str) -> str:
    found = _last_line(text, form, wanted)[1].casefold()
    if len({match[1].casefold() for line in text.splitlines() if (match := form.fullmatch(_plain(line)))}) > 1:
        raise UnreadableVerdict(f"a judge must give one verdict; got both in {text!r:.200}")
    return found


def _last_line(text: str, form: re.Pattern[str], wanted: str) -> re.Match[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    found = form.fullmatch(_plain(lines[-1])) if lines else None
    if found is None:
        raise UnreadableVerdict(f"a judge's last line must be {wanted}; got {lines[-1] if lines else ''!r:.100}")
    return found


def _plain(line: str) -> str:
    """Without Markdown's emphasis, a final stop and double spaces."""
    return " ".join(line.replace("*", "").replace("`", "").split()).removesuffix(".")
