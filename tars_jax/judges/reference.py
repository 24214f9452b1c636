"""The embedded judge of answers: what `finished(content=...)` said is compared with the task's reference.

Case, width, quotes, a sentence's marks, "the" and a leading "a" make no difference, nor how a number is written;
numbers with units, dates and lists are compared by type, and a reference may hold alternatives (`answers.py`).
"""

from __future__ import annotations

import contextlib
import re
import unicodedata

from tars_jax.agent.actions import Finished
from tars_jax.agent.functions import RECORDED
from tars_jax.agent.grammar import parse_response
from tars_jax.agent.response import ParseError
from tars_jax.environment import Task
from tars_jax.judges.answers import says_the_same
from tars_jax.judges.judge import Judgement
from tars_jax.trajectory import Trajectory

_MARKS = "\"'`“”‘’.,;:!?()[]{}…"
_NUMBER = re.compile(r"[-+]?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?")


def reference_answer(trajectory: Trajectory, task: Task) -> Judgement:
    """1 and success where the episode's answer is the task's `verification.reference`."""
    answer = answer_of(trajectory)
    asked = trajectory.metadata.get("instruction") or task.instruction
    right = answer is not None and says_the_same(answer, task.verification.reference, asked)
    return Judgement(float(right), right)


def answer_of(trajectory: Trajectory) -> str | None:
    """What the last action told the user; None where the episode did not end with an answer."""
    parsed = parse_response(f"Action: {trajectory.steps[-1].action}", grammar="text", space=RECORDED)
    if isinstance(parsed, ParseError) or not isinstance(last := parsed.actions[-1], Finished):
        return None
    return last.content


def normalized(text: str) -> tuple[str, ...]:
    """The words of an answer that make a difference."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    marked = (word if _NUMBER.fullmatch(word) else word.strip(_MARKS) for word in plain.split())
    words = [_number(word) for word in marked if word]
    kept = [word for place, word in enumerate(words) if word != "the" and (place or word not in ("a", "an"))]
    return tuple(kept or words or [plain.strip()])


def _number(word: str) -> str:
    if _NUMBER.fullmatch(word):
        with contextlib.suppress(ValueError, OverflowError):
            value = float(word.replace(",", ""))
            return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return word
