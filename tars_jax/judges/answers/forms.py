"""The forms of speech in which an answer is given, closed: all that stands around it is taken off here, or it stays.

Lima.   Answer: Lima   **Lima**   {"answer": "Lima"}   I think it is Lima.   As the page says, it is Lima.
"""

from __future__ import annotations

import json
import re

from tars_jax.judges.answers.words import GOES_ON, canonical, plain

_TEX = tuple(
    (re.compile(form), instead)
    for form, instead in (
        (r"\\[dt]?frac\s*\{(\d+)\}\s*\{(\d+)\}", r"\1/\2"), (r"\\(?:times|cdot)", "×"), (r"\\[,;: ]", " "),
        (r"(?<=\^)\{(-?\d+)\}", r"\1"), (r"(?<=\w)_\{?(\d)\}?", r"\1"), (r"\\([%$&#])", r"\1"),
        (r"\\(?:text|mathrm|mathbf|textbf|textit)\s*\{([^{}]*)\}", r"\1"),
    )
)  # fmt: skip
_KEYS = ("final_answer", "answer", "final", "result", "output", "response", "value")
_WRAPPED = tuple(
    re.compile(form, re.DOTALL)
    for form in (
        r"\*\*([^*]+)\*\*[.]?", r"__([^_]+)__", r"\*([^*\s][^*]*)\*", r"_([^_]+)_", r"```\w*\n([^`]+)```", r"`([^`]+)`",
        r"\$\$?([^$]+)\$\$?", r"\\boxed\s*\{(.*)\}", r"\\\((.*)\\\)", r"\\\[(.*)\\\]", r"#{1,6} ([^\n]+)",
        r">\s(?![\d$€£+-])([^\n]+)",
        r"\((\w)\)", r"(\w)\)", r"<answer>(.*)</answer>", r"\"([^\"]+)\"[.]?",
    )
)  # fmt: skip
_EMPHASIS = re.compile(r"(?<!\w)(\*\*|__|`|\*)(?=\S)([^*`_\n]+?)(?<=\S)\1(?!\w)")
_SAYS = r"(?:says?|states?|shows?|lists?|gives?|reports?|mentions?|reads?|tells?(?: me)?)"
_SOURCE = (
    r"(?:the |its |this |my |an? )?(?:page|article|text|encyclopedia|infobox|table|entry|source|document|website)s?"
)
_SURE = r"(?:(?:quite|pretty|fairly|very|rather|reasonably|almost|absolutely) )?(?:sure|certain|confident|positive)"
_SURELY = "(?:most |very )?likely|probably|possibly|presumably|undoubtedly|definitely|certainly|clearly|apparently"
_KNOWING = (
    r"(?:to (?:the best of )?my knowledge|as far as i (?:can tell|know|remember)"
    r"|if (?:i (?:recall|remember)|memory serves)(?: (?:correctly|right|rightly))?"
    r"|if i am not mistaken|no doubt|without (?:a )?doubt)"
)
_BELIEVE = (
    r"(?:i(?:'d| would) (?:say|answer|go with)"
    r"|i (?:do )?(?:think|believe|guess|suppose|assume|suspect|reckon|found|find)"
    rf"|i(?: a|')m {_SURE})"
)
_OPENINGS = re.compile(
    rf"(?:(?:so|thus|hence|therefore|well|ok(?:ay)?|sure|finally|indeed|in short|overall|{_SURELY})(?:[,!]\s*|\s+)"
    rf"|(?:{_KNOWING}|after checking)[,:]\s*"
    rf"|{_BELIEVE}(?: that)?[,:]?\s+"
    rf"|(?:according to|based on|as per) {_SOURCE}(?: of [^,.;]+)?,\s*"
    rf"|(?:as )?{_SOURCE} {_SAYS}(?: that|:|,)?\s+"
    rf"|it (?:looks like|seems(?: that)?|appears(?: that)?)(?! to\b)\s+)",
    re.IGNORECASE,
)
_CLOSINGS = re.compile(
    rf"(?:,? {_BELIEVE}|, {_KNOWING}|,? (?:as|so) {_SOURCE} {_SAYS}(?: it)?|,? according to {_SOURCE}"
    rf"|,? as stated (?:in|on|by) {_SOURCE}"
    r"|[.!]\s+(?:please )?let me know if (?:i can help with anything|you need anything) else"
    r"|[.!]\s+(?:i )?hope (?:this|that) helps)[.!]*$",
    re.IGNORECASE,
)
_SHORT_IS = re.compile(r"\b(it|that|he|she|there|here|what)'s\b", re.IGNORECASE)
_READ = re.compile(
    rf"i (?:have )?(?:read|checked|opened|looked at|found|visited|searched|consulted) {_SOURCE}"
    r"(?: (?:of|about|on) [^,.;]+)?",
    re.IGNORECASE,
)
_FINAL = re.compile(
    r"(?:\A|\n|(?<=[.!?] ))\s*(?:\*\*|#+ )?(?:my |the )?"
    r"(?:(?:final|exact|short) (?:answer|result)|answer|final|a|output)(?: is)?"
    r"(?:\s*[:=](?:\*\*)?\s*|(?:\*\*)?\s*\n\s*)",
    re.IGNORECASE,
)
_CONFIDENCE = re.compile(r"\n\s*confidence\s*:\s*\d{1,3}\s*%\s*$", re.IGNORECASE)
_LIST_LINE = re.compile(r"^[ \t]*(?:[-*•+]|\(?\d{1,2}[.)]|\(?[a-h]\))[ \t]+(?=\S)")
DECLINES = re.compile(
    r"\b(?:(?:do|did|does|could|can|was|were|am)(?:n't| not)|cannot|can't|unable to)(?: \w+)? "
    r"(?:know|find|found|determine|verify|tell|answer|locate|establish|confirm|say|sure|mention|able)\b"
    r"|^(?:unknown|unclear|n/a|none|sorry|no idea|no answer|not (?:known|given|stated|found|sure))\b"
    r"|\bno (?:idea|information|answer|evidence)\b",
    re.IGNORECASE,
)  # who says so has no answer; asked only where the reference is not said


def bare(text: str) -> str:
    """Without a wrapping that holds all of it."""
    text, before = _untexed(plain(_of_json(text.strip())).strip()), ""
    while text != before:
        before = text
        for form in _WRAPPED:
            if match := form.fullmatch(text):
                text = match[1].strip()
    return text


def _untexed(text: str) -> str:
    """The text without LaTeX."""
    for form, instead in _TEX:
        text = form.sub(instead, text)
    return text


def last_said(text: str) -> str:
    """Text behind the one mark of a final answer that begins a line or a sentence; with two marks, the whole text."""
    text = _CONFIDENCE.sub("", text)
    marks = list(_FINAL.finditer(text))
    boxed = list(re.finditer(r"\\boxed\s*\{([^{}]*)\}\s*\$?\.?\s*\Z", text))
    if len(boxed) == 1 and text.count("\\boxed") == 1 and not marks:
        return boxed[0][1]
    return text[marks[0].end() :] if len(marks) == 1 and text[marks[0].end() :].strip() else text


def lined(text: str) -> str:
    """The lines of a list as its items: "Two: \\n- a\\n- b" is "Two: a; b"."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and all(len(line.split()) < 5 and line.strip()[-1].isalnum() for line in lines):
        return "; ".join(_LIST_LINE.sub("", each).strip() for each in lines)
    items = [line for line in lines if _LIST_LINE.match(line)]
    if len(items) < 2 or lines[-len(items) :] != items:
        return text
    begins = "\n".join(lines[: -len(items)])
    return f"{begins} " * bool(begins) + "; ".join(_LIST_LINE.sub("", each).strip().rstrip(".;,") for each in items)


def emphasized(text: str) -> str:
    """Without marks that only show a part of it in another type."""
    return _EMPHASIS.sub(r"\2", text)


def sentence(text: str) -> str:
    """Without what opens or closes it and says nothing of the answer."""
    text, before = canonical(text), ""
    text = _SHORT_IS.sub(r"\1 is", text)
    text = re.sub(r"\b(?:(?:seems|appears) to|should|must|would) be\b", "is", text)
    while text != before:
        before = text
        text = _OPENINGS.sub("", text, count=1) if _OPENINGS.match(text) else text
        text = _CLOSINGS.sub("", text).strip() or text
        if not GOES_ON.search(text):
            text = text.removesuffix(".").removesuffix("!").strip() or text
    return text


def is_reading(text: str) -> bool:
    """I read the page of Peru."""
    return bool(_READ.fullmatch(canonical(text)))


def sentences(text: str) -> list[str]:
    return [each for each in re.split(r"(?<=[.!?])\s+|\n+|;\s+", text) if each.strip(" .")]


def _of_json(text: str) -> str:
    """The answer of an object that says nothing else."""
    if not text.startswith("{"):
        return text
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(found, dict) or len(found) != 1:
        return text
    (key, value), *_ = found.items()
    is_value = isinstance(value, str | int | float) and not isinstance(value, bool)
    return str(value) if key in _KEYS and is_value else text
