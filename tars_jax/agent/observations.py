"""A policy's view of an observation: its text within a bound of tokens, and the token count of its screenshot."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

_MOST_CHARACTERS = 32  # of a token; what a text has beyond that for each token is not looked at


@dataclasses.dataclass(frozen=True)
class ShownObservation:
    """An observation as it stands in a window."""

    text: str = ""
    image_tokens: int = 0  # 0: without a screenshot


def bounded(text: str, most: int, count: Callable[[str], int]) -> str:
    """A text of at most `most` tokens, as `count` counts them: what is cut is marked in the middle.

    Whole lines are kept, from both ends; of a line that is too long for that, both ends. A bound that holds no mark
    leaves nothing.
    """
    if most <= 0 or not text:
        return ""

    def fits(candidate: str) -> bool:
        return len(candidate) <= most * _MOST_CHARACTERS and count(candidate) <= most

    if fits(text):
        return text
    lines = text.splitlines()
    return _cut(lines, "lines", "\n", fits) or _cut(text, "characters", "", fits)


def _cut(parts: Sequence[str], unit: str, between: str, fits: Callable[[str], bool]) -> str:
    """The most parts from both ends that fit, with a mark between them; empty where none does."""

    def keeping(kept: int) -> str:
        head, tail = parts[: -(-kept // 2)], parts[len(parts) - kept // 2 :]
        return between.join([*head, f"[{len(parts) - kept} {unit} left out]", *tail])

    low, high = 0, len(parts) - 1
    while low < high:  # a bisection: what is longer fits less
        middle = -(-(low + high) // 2)
        low, high = (middle, high) if fits(keeping(middle)) else (low, middle - 1)
    if low == 0 and (between or not fits(keeping(0))):
        return ""
    return keeping(low)
