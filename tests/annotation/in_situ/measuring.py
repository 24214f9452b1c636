"""What came out beside the truth of a scripted session."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Iterable, Sequence

from tars_jax.agent.grammar_text import format_call
from tars_jax.annotation.in_situ.alignment import SpokenSentence
from tars_jax.annotation.in_situ.speech import SpokenWord
from tars_jax.annotation.in_situ.steps import RecordedStep
from tests.annotation.in_situ.scripted import Session

_NUMBERS = {
    word: number
    for number, word in enumerate(
        (
            "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
            "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
        )
    )
}  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBERS |= {word: 10 * number for number, word in enumerate(_TENS, 2)}
_NUMBERS["hundred"] = 100
SAME_S = 0.75  # between the presses of a step and its truth


@dataclasses.dataclass(frozen=True)
class Counts:
    right: int
    of: int

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.right + other.right, self.of + other.of)

    @property
    def share(self) -> float:
        return self.right / self.of if self.of else 1.0


def calls(step: RecordedStep) -> str:
    return "\n\n".join(map(format_call, step.actions)) or step.cannot_say


def matched(steps: Sequence[RecordedStep], session: Session) -> dict[int, int]:
    """Of each true step the number of the one that says the same at the same time."""
    found: dict[int, int] = {}
    for number, (time, action) in enumerate(session.steps):
        for other, step in enumerate(steps):
            if other not in found.values() and calls(step) == action and abs(step.time - time) <= SAME_S:
                found[number] = other
                break
    return found


def action_f1(steps: Sequence[RecordedStep], session: Session) -> Counts:
    """As twice what is right of both together."""
    return Counts(2 * len(matched(steps, session)), len(steps) + len(session.steps))


def thoughts(
    sentences: Sequence[SpokenSentence], steps: Sequence[RecordedStep], session: Session
) -> list[tuple[bool, str]]:
    """Of each scripted thought whether most of its time was given to its step, or to none where it has none."""
    at = {true: found for true, found in matched(steps, session).items()}
    result = []
    for thought in session.thoughts:
        given: dict[int | None, float] = {}
        for sentence in sentences:
            overlap = min(sentence.ends, thought.ends) - max(sentence.begins, thought.begins)
            if overlap > 0:
                given[sentence.step] = given.get(sentence.step, 0.0) + overlap
        place = max(given, key=lambda each: given[each]) if given else -1
        true = None if thought.step is None else at.get(thought.step, -2)
        right = place == true and (true is not None or bool(given))
        result.append((right, f"{thought.kind}: {thought.text!r} of {true}, got {place}"))
    return result


def word_errors(words: Sequence[SpokenWord], session: Session) -> tuple[Counts, list[float]]:
    """Wrong of true words (inserted, lost, another), and by how many seconds the beginnings of right ones are off."""
    true = _tokens((word, time) for thought in session.thoughts for word, time in thought.words)
    heard = _tokens((word.text, word.begins) for word in words)
    matcher = difflib.SequenceMatcher(None, [word for word, _ in true], [word for word, _ in heard], autojunk=False)
    wrong, off = 0, []
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            off += [abs(true[a + each][1] - heard[c + each][1]) for each in range(b - a)]
        else:
            wrong += max(b - a, d - c)
    return Counts(wrong, len(true)), off


def _tokens(words: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """In lower case, without punctuation; numbers as digits, also those that are words."""
    found: list[tuple[str, float]] = []
    number, since = list[int](), 0.0
    for word, time in [*words, ("", 0.0)]:
        for each in re.findall(r"[a-z0-9']+|%", word.lower()) or [""]:
            plain = {"%": "percent"}.get(each, each.replace("'", ""))
            if (value := _NUMBERS.get(plain)) is not None:
                since = since if number else time
                _count(number, value)
                continue
            if number:
                found.append(("".join(map(str, number)), since))
                number = []
            if plain:
                found.append((plain, time))
    return found


def _count(number: list[int], value: int) -> None:
    """Goes on with a number by its next word: seventy, five; three, hundred; eighteen, ninety, one of a year."""
    if value == 100 and number:
        number[-1] *= 100
    elif number and value < 10 and number[-1] >= 20 and number[-1] % 10 == 0:
        number[-1] += value
    else:
        number.append(value)
