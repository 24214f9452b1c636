"""Whether an answer lists what the reference lists: all of it, and nothing beside."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tars_jax.judges.answers import names
from tars_jax.judges.answers.clauses import RIGHT, RIVAL, UNSURE, Clause, clauses_of
from tars_jax.judges.answers.kinds import kind_of
from tars_jax.judges.answers.speech import COPULAS, FRAMES, ORDINALS, PREPOSITIONS, TITLES, VAGUE
from tars_jax.judges.answers.weighing import Weighing
from tars_jax.judges.answers.words import Word

_MAYBE = frozenset(("maybe", "perhaps", "possibly", "probably"))


class Listing(Weighing):
    def _list(self, said: str, parts: tuple[str, ...]) -> bool | str:
        typed: list[Callable[[str], str]] = []
        targets: list[tuple[Word, ...]] = []
        for part in parts:
            kind = kind_of(part, "")
            if callable(kind):
                typed.append(kind)
            else:
                targets.append(names.words_of(part))
        shorter = {short: target for target in targets for short in self._shorter(target)}
        clauses = clauses_of(said, [*targets, *shorter])
        found = {
            shorter.get(target, target)
            for clause in clauses
            for a, b in clause.right
            for target in (*targets, *shorter)
            if is_target(clause.words[a:b], target)
        }
        missing = [target for target in targets if target not in found]
        if any(RIGHT not in kind(said) for kind in typed):
            return False
        if typed and not targets and re.search(r"\border\b", self._question, re.IGNORECASE):
            places = [kind(said).index(RIGHT) for kind in typed]
            if places != sorted(places):
                return False
        _, colon, items = said.rpartition(":")
        if colon and all(RIGHT in kind(items) for kind in typed):
            said = items  # "three ports: 22, 80, 443"
        if typed and not targets:
            alike = {kind.__name__: kind for kind in typed}  # days, times, numbers
            figures = [mark for kind in alike.values() for mark in re.findall(f"[{RIGHT}{RIVAL}{UNSURE}]", kind(said))]
            return len(figures) == len(typed) and not re.search(r"\b(?:or|not)\b", said, re.IGNORECASE)
        rivals = [clause for clause in clauses if not clause.right and self._is_named_rival(clause, clauses) is True]
        content = {text for clause in clauses if clause.right for text in self._uncovered(clause)}
        if any(clause.is_negated and clause.right for clause in clauses) or any(
            clause.before == "or" for clause in clauses
        ):
            return False
        if any(clause.right and clause.after == "?" for clause in clauses) or any(
            set(clause.texts) & _MAYBE for clause in clauses[1:]
        ):
            return "it is not sure of all"
        if VAGUE.search(said) or re.search(r"\b(?:etc|others|more|among others)\b", said, re.IGNORECASE):
            return False
        if missing:
            return (
                "whether another name is one of the list has to be known"
                if len(rivals) >= len(missing) and not self.is_closed
                else False
            )
        if rivals:
            return False
        if content:
            return f"what {sorted(content)[0]!r:.40} says of it has to be understood"
        if re.search(r"\bin (?:\w+ )?order\b|\bchronological", self._question, re.IGNORECASE):
            places = [
                next(
                    n
                    for n, clause in enumerate(clauses)
                    if any(is_target(clause.words[a:b], target) for a, b in clause.right)
                )
                for target in targets
            ]
            return places == sorted(places)
        return True

    def _uncovered(self, clause: Clause) -> set[str]:
        covered = {place for start, end in clause.right for place in range(start, end)}
        subject = clause.right[0][0] if self._is_described and set(clause.texts) & COPULAS else 0
        return {
            word.text
            for place, word in enumerate(clause.words)
            if place not in covered
            and (self._is_name_before(clause, place) or not self._is_free(word))
            and word.text not in TITLES | ORDINALS
            and not (place < subject and word.capital)
            and not (place > clause.right[0][1] and self._is_aside(clause, place))
        }

    def _is_name_before(self, clause: Clause, place: int) -> bool:
        """Peter before Weiss, where Petra Weiss is meant."""
        word = clause.words[place]
        is_before = any(start == place + 1 for start, _ in clause.right)
        return is_before and word.capital and word.text not in FRAMES | TITLES and word.text in self._own

    def _is_aside(self, clause: Clause, place: int) -> bool:
        """Said of an item after a preposition: "France to the north"."""
        start = max(end for _, end in clause.right if end <= place)
        return bool(set(clause.texts[start:place]) & (PREPOSITIONS | {"to"})) and not clause.words[place].capital


def is_target(words: Sequence[Word], target: Sequence[Word]) -> bool:
    return names.match(words, 0, target) == len(words)
