"""The verdict over an answer, by the kind of its reference."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tars_jax.judges.answers import names
from tars_jax.judges.answers.clauses import RIGHT, RIVAL, UNSURE, Clause, clauses_of
from tars_jax.judges.answers.kinds import as_yes_or_no, kind_of, without_country
from tars_jax.judges.answers.speech import (
    AUXILIARIES,
    BARRED,
    CONTRAST,
    COPULAS,
    CORRECTIONS,
    FRAMES,
    INSTEAD,
    MARKERS,
    NEGATIONS,
    PRONOUNS,
    REFUSALS,
    VAGUE,
)  # fmt: skip
from tars_jax.judges.answers.weighing import Weighing
from tars_jax.judges.answers.words import Word, plain, spoken
from tars_jax.judges.judge import CannotSay

ALTERNATIVES = " || "
LONGEST = 4000  # characters of an answer; more is none


def says_the_same(answer: str, reference: str, question: str = "") -> bool:
    """Raises CannotSay where that needs knowledge, or a reader that understands more than clauses."""
    if len(answer) > LONGEST or not answer.strip():
        return False
    wanted = [plain(each) for each in alternatives(reference)]
    is_closed = reference.rstrip().endswith(ALTERNATIVES.rstrip())
    if not wanted:
        return False
    asked = plain(question)
    said = spoken(answer)
    if question and said.casefold().startswith(asked.casefold()):
        said = said[len(asked) :].strip()
    judge = _Judge(wanted, asked, is_closed)
    said = BARRED.sub(" not ", re.sub(r"\b(?:none|no one) other than\b", " ", said, flags=re.IGNORECASE))
    said = INSTEAD.sub(", not", said)
    parts = _committed(said, judge)
    if any(part != said for part in parts) and judge.has_reference(said) and not all(map(judge.has_reference, parts)):
        return False  # it was taken back
    verdicts = [judge.verdict(part) for part in parts]
    if False in verdicts:
        return False
    unsure = [each for each in verdicts if isinstance(each, str)]
    if unsure:
        raise CannotSay(unsure[0])
    return True


def alternatives(reference: str) -> list[str]:
    """The ways to say a reference."""
    return [each.strip() for each in reference.split(ALTERNATIVES.strip()) if each.strip()]


def _committed(said: str, judge: _Judge) -> list[str]:
    """What an answer ends with: after "final answer:", where several must all be right; after the last correction."""
    marked = [match for match in MARKERS.finditer(said)]
    if marked:
        ends = [*(match.start() for match in marked[1:]), len(said)]
        parts = [said[match.end() : end] for match, end in zip(marked, ends, strict=True)]
        filled = [part for part in parts if re.search(r"\w", part)]
        if filled:
            numbered = [part for part in filled]
            return [_corrected(part, judge) for part in numbered]
    return [_corrected(said, judge)]


def _corrected(said: str, judge: _Judge) -> str:
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


class _Judge(Weighing):
    def verdict(self, said: str) -> bool | str:
        """True, False, or why nobody can say."""
        self._shouts = said.isupper()
        found: list[bool | str] = []
        named = [each for each, kind in zip(self._references, self._kinds, strict=True) if kind == "name"]
        for each, kind in zip(self._references, self._kinds, strict=True):
            if kind == "yes or no":
                found.append(self._polarity(said, each))
            elif isinstance(kind, tuple):
                found.append(self._list(said, kind))
            elif callable(kind):
                found.append(self._typed(said, each, kind))
        if named:
            found.append(self._named(said, named))
        if True in found:
            return True
        return next((each for each in found if isinstance(each, str)), False)

    def has_reference(self, said: str) -> bool:
        targets = [
            names.words_of(each) for each, kind in zip(self._references, self._kinds, strict=True) if kind == "name"
        ]
        marks = [kind for kind in self._kinds if callable(kind)]
        named = any(clause.right for clause in clauses_of(said, targets)) if targets else False
        return named or any(RIGHT in mark(said) for mark in marks) or not (targets or marks)

    def commits(self, said: str) -> bool:
        """Whether there is anything of the reference's kind in a text."""
        if self.is_yes_or_no:
            return bool(re.search(r"\b(?:yes|no)\b", said, re.IGNORECASE))
        for kind in self._kinds:
            if callable(kind) and re.search(f"[{RIGHT}{RIVAL}{UNSURE}]", kind(said)):
                return True
        if all(callable(kind) for kind in self._kinds):
            return False
        return any(self._content(clause) for clause in clauses_of(said, []))

    def _typed(self, said: str, reference: str, mark: Callable[[str], str]) -> bool | str:
        clauses = clauses_of(mark(said), [])
        for clause in clauses:
            clause.right = [(n, n + 1) for n, word in enumerate(clause.words) if word.raw == RIGHT]
        if not any(clause.right for clause in clauses):
            if any(word.raw == UNSURE for clause in clauses for word in clause.words):
                return f"{reference!r:.80} may be meant, by another custom or more exactly"
            if names.is_of_other_script(said, reference) and not re.search(r"\d", said):
                return f"{said!r:.60} is in another script than {reference!r:.60}"
            return False
        return self._weigh(clauses, self._is_typed_rival)

    def _named(self, said: str, references: Sequence[str]) -> bool | str:
        targets = [names.words_of(each) for each in references]
        targets += [shorter for each in references if (shorter := without_country(each))]
        clauses = clauses_of(said, [each for each in targets if each])
        if any(clause.right for clause in clauses):
            return self._weigh(clauses, self._is_named_rival)
        known = self._known(clauses, references)
        if known is not None:
            return known
        return self._absent(said, clauses, references)

    def _known(self, clauses: Sequence[Clause], references: Sequence[str]) -> bool | None:
        """What CLDR says of the one name in an answer."""
        candidates = [clause for clause in clauses if self._content(clause) and not clause.is_negated]
        if len(candidates) != 1:
            return None
        content = [word.raw for word in candidates[0].words if not self._is_free(word)]
        every = " ".join(word.raw for word in candidates[0].words)
        for text in (every, " ".join(content)):
            found = [names.knows_better(text, each) for each in references]
            if True in found:
                return True
            if found and all(each is False for each in found):
                return False
        return None

    def _absent(self, said: str, clauses: Sequence[Clause], references: Sequence[str]) -> bool | str:
        """The reference is not there: another answer, none at all, or an alias, which nobody here can know."""
        content = [clause for clause in clauses if self._content(clause) and not self._speaks_to_the_judge(clause)]
        if not content:
            return False
        if names.is_of_other_script(said, " ".join(references)):
            return f"{said!r:.60} is in another script than {references[0]!r:.60}"
        if self.is_closed or REFUSALS.search(said) or VAGUE.search(said):
            return False
        if len(content) > 1 and any(clause.before in ("or", "/") for clause in content[1:]):
            return False
        if sum(clause.before in (",", "and", "\n") for clause in content[1:]) > 1:
            return False
        if not self._is_lower and not any(self._name_in(clause) for clause in content):
            return False
        return f"whether {said!r:.60} is another name of {references[0]!r:.60} has to be known"

    def _polarity(self, said: str, reference: str) -> bool | str:
        wanted = as_yes_or_no(reference)
        clauses = clauses_of(said, [])
        told = []
        for number, clause in enumerate(clauses):
            texts = [as_yes_or_no(text) or text for text in clause.texts]
            spoken_out = [
                text
                for place, text in enumerate(texts)
                if text in ("yes", "no")
                and (place == 0 or texts[place - 1] in FRAMES | CONTRAST)
                and (
                    text == "yes" or place == len(texts) - 1 or (place == 0 and (number == 0 or clause.before == "or"))
                )
            ]
            told += spoken_out
            if (
                not spoken_out
                and told
                and number
                and not self._content(clause) - {"not"}
                and clause.before in (",", "but", ";", "")
                and told[0] == "yes"
                and clause.is_negated
            ):
                return "it takes something back"
        if not told:
            return self._echoed(clauses, wanted)
        if len(set(told)) > 1:
            return False
        if REFUSALS.search(said) and len(clauses) == 1 and "?" in said:
            return False
        return told[0] == wanted

    def _echoed(self, clauses: Sequence[Clause], wanted: str) -> bool | str:
        if len(clauses) == 1:
            clause = clauses[0]
            rest = set(clause.texts) - PRONOUNS - NEGATIONS
            if rest and rest <= AUXILIARIES and clause.texts[0] in PRONOUNS:  # it does; they did not
                return ("no" if clause.is_negated else "yes") == wanted
            share = sum(any(names.akin(text, each) for text in clause.texts) for each in self._asked - FRAMES)
            if not self._content(clause) - NEGATIONS and share and share * 2 >= len(self._asked - FRAMES):
                return ("no" if clause.is_negated else "yes") == wanted
        if not any(self._content(clause) for clause in clauses) or any(
            REFUSALS.search(" ".join(clause.texts)) for clause in clauses
        ):
            return False
        return "it says neither yes nor no"

    def _list(self, said: str, parts: tuple[str, ...]) -> bool | str:
        typed: list[Callable[[str], str]] = []
        targets: list[tuple[Word, ...]] = []
        for part in parts:
            kind = kind_of(part, "")
            if callable(kind):
                typed.append(kind)
            else:
                targets.append(names.words_of(part))
        clauses = clauses_of(said, targets)
        found = {
            target
            for clause in clauses
            for a, b in clause.right
            for target in targets
            if is_target(clause.words[a:b], target)
        }
        missing = [target for target in targets if target not in found]
        if any(RIGHT not in kind(said) for kind in typed):
            return False
        if typed and not targets and re.search(r"\border\b", self._question, re.IGNORECASE):
            places = [kind(said).index(RIGHT) for kind in typed]
            if places != sorted(places):
                return False
        if typed and not targets:
            figures = re.findall(rf"[{RIGHT}{RIVAL}{UNSURE}]", typed[0](said))
            return len(figures) == len(typed) and not re.search(r"\b(?:or|not)\b", said, re.IGNORECASE)
        rivals = [clause for clause in clauses if not clause.right and self._is_named_rival(clause, clauses) is True]
        content = {text for clause in clauses if clause.right for text in self._uncovered(clause)}
        if any(clause.is_negated and clause.right for clause in clauses) or any(
            clause.before == "or" for clause in clauses
        ):
            return False
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
            if place not in covered and not self._is_free(word) and not (place < subject and word.capital)
        }


def is_target(words: Sequence[Word], target: Sequence[Word]) -> bool:
    return names.match(words, 0, target) == len(words)
