"""The form in which BrowseComp asks for an answer: an explanation, the exact answer, and how sure the agent is."""

from __future__ import annotations

import re
from typing import NamedTuple

_FORM = {
    "en": "Answer in this form, each part on a line of its own:\n"
    "Explanation: why this is the answer\nExact Answer: the answer alone, as short as it can be\n"
    "Confidence: how sure you are of it, from 0% to 100%",
    "zh": "请按以下形式作答，每一部分单独成行：\nExplanation: 说明得出该答案的理由\n"
    "Exact Answer: 仅写最终答案，尽量简短\nConfidence: 对答案的把握，0% 到 100%",
}
_PART = re.compile(
    r"^[ \t]*[*_#>]{0,4}[ \t]*(Explanation|Exact[ _]Answer|Confidence)[ \t]*[*_]{0,2}[ \t]*[:：][*_]{0,2}",
    re.IGNORECASE | re.MULTILINE,
)
_MARK = r"[*_]{{0,2}}{}[ \t]*[*_]{{0,2}}[ \t]*[:：][*_]{{0,2}}[ \t]*"
_INLINE_ANSWER = re.compile(rf"(?<=\s){_MARK.format('Exact[ _]Answer')}", re.IGNORECASE)  # behind an explanation
_INLINE_CONFIDENCE = re.compile(
    rf"[ \t,;|]+{_MARK.format('Confidence')}(?P<sure>[~*_]{{0,3}}\d{{1,3}}(?:\.\d+)?\s*[%％]?[.*_]{{0,3}})\Z",
    re.IGNORECASE,
)  # behind the answer
_NUMBER = re.compile(r"\D{0,20}?(?<![-−–.\d])(?<![-−–] )(\d{1,3}(?:\.\d+)?)\s*(?:[%％]|\\%|/\s*100\b|[.,;)]?(?:$|\s))")


class Answered(NamedTuple):
    """The parts of a response."""

    explanation: str
    exact_answer: str | None  # None: it has no such part
    confidence: float | None  # 0 to 100; None: it says none


def asked(question: str, language: str) -> str:
    """The question, and the form of the response."""
    return f"{question}\n\n{_FORM[language]}"


def question_in(instruction: str) -> str:
    """The question of an instruction that `asked` has made."""
    for form in _FORM.values():
        instruction = instruction.removesuffix(f"\n\n{form}")
    return instruction


def response_of(exact_answer: str, confidence: int = 100, explanation: str = "It was read there.") -> str:
    """A response in that form."""
    return f"Explanation: {explanation}\nExact Answer: {exact_answer}\nConfidence: {confidence}%"


def read_response(text: str) -> Answered:
    """The last of each part counts, as what comes first may be a draft; parts may share a line, too."""
    marks = list(_PART.finditer(text))
    parts: dict[str, str] = {}
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    for mark, end in zip(marks, ends, strict=False):
        parts[mark[1].casefold().replace("_", " ")] = text[mark.end() : end].strip()
    explanation, exact = parts.get("explanation", ""), parts.get("exact answer")
    if exact is None and len(found := _INLINE_ANSWER.split(explanation)) == 2:
        explanation, exact = found[0].strip(), found[1].strip()
    sure = parts.get("confidence", "")
    if exact is not None and (inline := _INLINE_CONFIDENCE.search(f" {exact}")):
        exact, sure = exact[: max(inline.start() - 1, 0)].strip(), inline["sure"]
    return Answered(explanation, exact, read_confidence(sure))


def read_confidence(text: str) -> float | None:
    """A number of 0 to 100, with or without a percent sign, 100 for more; None for anything else, as below 0."""
    found = _NUMBER.match(text)
    return min(float(found[1]), 100.0) if found else None
