"""An answer cut into clauses, at marks and at words that begin one, with the places of the reference in each."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

from tars_jax.judges.answers import names
from tars_jax.judges.answers.speech import CONTRAST, EXCLUSIONS, JOINS, NEGATIONS, STARTS
from tars_jax.judges.answers.words import Word, tokens

# Stand for numbers and days of the reference's kind.
RIGHT, RIVAL, UNSURE = "\ue001", "\ue002", "\ue003"


@dataclasses.dataclass
class Clause:
    words: list[Word]
    before: str  # the mark or the word that joins it to the one before
    label: tuple[Word, ...] = ()  # what stands before the colon before it
    after: str = ""
    shares: Clause | None = None  # whose verb it shares: "Japan" of "Japan and Russia did not"
    right: list[tuple[int, int]] = dataclasses.field(default_factory=list)  # places of the reference

    @property
    def texts(self) -> list[str]:
        return [word.text for word in self.words]

    @property
    def is_negated(self) -> bool:
        return self.has_not != bool(set(self.texts) & EXCLUSIONS)

    @property
    def has_not(self) -> bool:
        if self.shares is not None and self.shares.has_not and self.shares.texts[0] not in NEGATIONS:
            return True
        found = self.texts
        for place, text in enumerate(found):
            hedged = text == "not" and (
                set(found[place + 1 : place + 3]) & {"sure", "certain"} or found[place + 1 : place + 2] == ["only"]
            )
            if text in NEGATIONS and not hedged:
                return True
        return False


def clauses_of(text: str, targets: Sequence[Sequence[Word]]) -> list[Clause]:
    """Cut at marks and at words that begin a clause, but not within a target."""
    items = list(tokens(text))
    words = [item for item in items if isinstance(item, Word)]
    gaps: list[list[str]] = [[]]
    for item in items:
        if isinstance(item, Word):
            gaps.append([])
        else:
            gaps[-1].append(item)
    spans: list[tuple[int, int]] = []
    place = 0
    ordered = sorted(targets, key=len, reverse=True)
    while place < len(words):
        length = next(
            (
                taken
                for target in ordered
                if (taken := names.match(words, place, target))
                and not _is_cut(gaps[place + 1 : place + taken], is_person=isinstance(target, names.Person))
            ),
            0,
        )
        if length:
            spans.append((place, place + length))
        place += length or 1
    inside = {number for start, end in spans for number in range(start + 1, end)}
    covered = {number for start, end in spans for number in range(start, end)}
    found: list[Clause] = []
    current = Clause([], "")
    origin: list[int] = []
    for number, word in enumerate(words):
        mark = (
            next((each for each in gaps[number] if each in STARTS or set(each) == {"."}), "")
            if number not in inside
            else ""
        )
        starts = word.text in JOINS | CONTRAST and number not in covered
        if (mark or starts) and (current.words or mark):
            if current.words:
                current.after = mark or word.text
                found.append(_placed(current, origin, spans))
                label = tuple(current.words) if mark == ":" else ()
                current, origin = Clause([], mark[:1] or word.text, label), []
            elif not found:
                current.before = ""
        if starts:
            current.before = word.text
            continue
        current.words.append(word)
        origin.append(number)
    current.after = next(iter(gaps[-1]), "")
    if current.words:
        found.append(_placed(current, origin, spans))
    for clause, later in itertools.pairwise(found):
        if later.before == "and" and len(clause.words) < 4 and len(later.words) > 1:
            clause.shares = later
    return found


def _placed(clause: Clause, origin: Sequence[int], spans: Sequence[tuple[int, int]]) -> Clause:
    where = {number: place for place, number in enumerate(origin)}
    clause.right = [(where[start], where[end - 1] + 1) for start, end in spans if start in where and end - 1 in where]
    return clause


def _is_cut(gaps: Sequence[Sequence[str]], *, is_person: bool) -> bool:
    if is_person:
        return any(gap for gap in gaps if gap != ["-"])
    return any(each in ("\n", ";", "?", "!", "(", ")") or set(each) == {"."} for gap in gaps for each in gap)
