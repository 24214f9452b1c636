"""What an answer commits to in the end: after "final answer:", after its last correction, after its working, and
without remarks in brackets.

    Quito. No, wait: Lima       ->  Lima
    480 - 120 = 360             ->  360
    It costs 3, and 2 more for shipping, so the total is 5   ->  the total is 5
    7 moons: 4 large and 3 small                             ->  7 moons
    Neptune (Uranus had been known for long)                 ->  Neptune
"""

from __future__ import annotations

import re
from typing import Protocol

from tars_jax.judges.answers.speech import CORRECTIONS, MARKERS, NEGATIONS, WRONG

# What draws a conclusion from what stands before it. "a = b" does where a is a calculation, "makes" where it sums up.
_SO = r"\b(?:so|hence|therefore|thus|consequently)\b"
_MAKES = (
    r"\b(?:mak(?:es?|ing)|leav(?:es?|ing)|giv(?:es?|ing)|equals|totall?ing|totals|comes to|adds up to|amounts to)\b"
)
_CONCLUSION = re.compile(
    rf"(?P<so>{_SO})[\s,:]*|(?P<equals>[=≈])\s*|(?P<makes>{_MAKES})\s*|(?P<sum>:)\s+(?=\S{{1,20}}$)", re.IGNORECASE
)
_SENTENCE = re.compile(r"[.;!?]\s|\n|[:=≈]")
_FULL = re.compile(r"[.;!?]\s|\n")
_BRACKET = re.compile(r"\s*\(([^()]*)\)")
_CHOICE = re.compile(
    r"^\W*(?:or|maybe|perhaps|possibly|alternatively|actually|but|however|only|rather|correction|no|yes)\b|\?",
    re.IGNORECASE,
)


_PARTS = re.compile(r"(?P<sum>\b\d+)(?P<what>[^\d:.;\n]*):(?P<parts>[^:\n]*)\Z")


class Judge(Protocol):
    """What has to be known of a reference to see where an answer has it."""

    is_yes_or_no: bool
    is_typed: bool

    def commits(self, said: str) -> bool: ...

    def has_reference(self, said: str) -> bool: ...

    def is_figure(self, said: str) -> bool: ...

    def is_value(self, said: str) -> bool: ...


def committed(said: str, judge: Judge) -> list[str]:
    """What an answer ends with: after "final answer:", where several must all be right; after the last correction."""
    marked = [match for match in MARKERS.finditer(said)]
    if marked:
        ends = [*(match.start() for match in marked[1:]), len(said)]
        parts = [said[match.end() : end] for match, end in zip(marked, ends, strict=True)]
        filled = [part for part in parts if re.search(r"\w", part)]
        if filled:
            return [_corrected(part, judge) for part in filled]
    return [_corrected(said, judge)]


def _corrected(said: str, judge: Judge) -> str:
    cues = [
        match
        for match in CORRECTIONS.finditer(said)
        if not (judge.is_yes_or_no and "no" in match[0].casefold().split())
    ]
    for cue in reversed(cues):
        after = said[cue.end() :]
        if judge.commits(after):
            return after
    return said


def concluded(said: str, judge: Judge) -> str:
    """Without its working: what stands before the last conclusion that has the reference is no answer."""
    if judge.is_yes_or_no:
        return said
    for cue in reversed(list(_CONCLUSION.finditer(said))):
        after = said[cue.end() :]
        if cue["makes"] and not judge.is_typed:
            continue  # "it plans to make wire" is no sum
        if judge.has_reference(after) and _concludes(said[: cue.start()], cue):
            return after
    return said


def is_concluded_otherwise(said: str, judge: Judge) -> bool:
    """Whether an answer ends by drawing another value from its working: "a quarter is 360, leaving 120"."""
    cues = [cue for cue in _CONCLUSION.finditer(said) if _concludes(said[: cue.start()], cue)]
    return bool(cues) and not judge.is_yes_or_no and judge.is_figure(said[cues[-1].end() :])


def _concludes(before: str, cue: re.Match[str]) -> bool:
    """Whether what stands before a cue is working: of "y = 12" the 12 is y's, and "x is not = 12" denies it."""
    sentence = (_FULL if cue["makes"] else _SENTENCE).split(before)[-1]
    words = re.findall(r"[^\W\d_]+", sentence.casefold())
    if NEGATIONS & set(words) and not cue["so"]:
        return False
    figures = re.findall(r"\d+(?:[.,:]\d+)*", sentence)
    if cue["equals"]:
        last = re.split(r",\s|\band\b", sentence)[-1]
        return bool(re.search(r"\d", last)) and not re.search(r"[^\W\d_]{2,}", re.sub(r"\bof\b|\btimes\b", "", last))
    if cue["sum"]:
        return len(figures) > 1
    if cue["makes"]:
        if cue["makes"].casefold().endswith("ing"):
            return bool(figures)
        return len(figures) > 1 or not figures or (bool(words) and words[-1] in ("that", "which", "this", "it"))
    return bool(before.strip())


def without_remarks(said: str, judge: Judge) -> str:
    """Without brackets after the reference that explain it; not such as name another, deny it or leave a choice."""
    done, pieces = 0, []
    for match in _BRACKET.finditer(said):
        if judge.has_reference(said[: match.start()]) and _is_remark(match[1], judge):
            pieces.append(said[done : match.start()] + " ;" * (said[match.end() : match.end() + 2].strip() != ""))
            done = match.end()
    return "".join((*pieces, said[done:]))


def without_parts(said: str) -> str:
    """Without what a number is the sum of."""
    match = _PARTS.search(said)
    parts = [int(each) for each in re.findall(r"(?<![\w.,])\d+(?![\w.,]\d)", match["parts"])] if match else []
    return said[: match.start("parts") - 1] if match and len(parts) > 1 and sum(parts) == int(match["sum"]) else said


def _is_remark(inside: str, judge: Judge) -> bool:
    words = [word.casefold() for word in re.findall(r"[^\W\d_]+", inside)]
    if judge.has_reference(inside) or _CHOICE.search(inside) or set(words) & (NEGATIONS | WRONG):
        return False
    return not judge.is_value(inside)
