"""The verdict over an answer, by the kind of its reference."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tars_jax.judges.answers import names
from tars_jax.judges.answers.clauses import RIGHT, RIVAL, UNSURE, Clause, clauses_of
from tars_jax.judges.answers.committed import committed, concluded, is_concluded_otherwise, without_remarks
from tars_jax.judges.answers.listing import Listing
from tars_jax.judges.answers.polarity import Polarity
from tars_jax.judges.answers.quantities import quantities_in
from tars_jax.judges.answers.speech import REFUSALS, TURNS, VAGUE
from tars_jax.judges.answers.words import plain, spoken
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
    for turn, instead in TURNS:
        if not turn.search(" ".join((asked, *wanted))):
            said = turn.sub(instead, said)
    parts = committed(said, judge)
    if any(part != said for part in parts) and judge.has_reference(said) and not all(map(judge.has_reference, parts)):
        return False  # it was taken back
    if any(is_concluded_otherwise(part, judge) for part in parts):
        return False
    verdicts = [judge.verdict(without_remarks(concluded(part, judge), judge)) for part in parts]
    if False in verdicts:
        return False
    unsure = [each for each in verdicts if isinstance(each, str)]
    if unsure:
        raise CannotSay(unsure[0])
    return True


def alternatives(reference: str) -> list[str]:
    """The ways to say a reference."""
    return [each.strip() for each in reference.split(ALTERNATIVES.strip()) if each.strip()]


class _Judge(Polarity, Listing):
    def verdict(self, said: str) -> bool | str:
        """True, False, or why nobody can say."""
        self._shouts = said.isupper()
        self._is_lower = self._has_lower_names or said.islower()
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
        targets = self._targets(
            [each for each, kind in zip(self._references, self._kinds, strict=True) if kind == "name"]
        )
        marks = [kind for kind in self._kinds if callable(kind)]
        named = any(clause.right for clause in clauses_of(said, targets)) if targets else False
        return named or any(RIGHT in mark(said) for mark in marks) or not (targets or marks)

    def is_value(self, said: str) -> bool:
        """Whether a text is another thing of the reference's kind, such as "7", "7 after review" or "Paris"."""
        if any(callable(kind) for kind in self._kinds):
            marks = [kind(said).strip() for kind in self._kinds if callable(kind)]
            return self.is_figure(said) or any(
                mark.startswith(RIVAL) and not re.search(f"[\\d{RIVAL}]", mark[1:]) for mark in marks
            )
        clauses = clauses_of(said, [])
        content = [word for clause in clauses for word in clause.words if word.text not in names.ARTICLES]
        if any(word.text in self._offered for word in content):
            return True
        return len(content) <= self._length + 1 and all(word.capital or self._is_lower for word in content)

    def is_figure(self, said: str) -> bool:
        """Whether a text is another number or day than the reference and nothing more."""
        marks = [kind(said) for kind in self._kinds if callable(kind)]
        return any(
            len(re.findall(f"[{RIVAL}{UNSURE}]", mark)) == 1
            and not re.search(rf"[\d{RIGHT}]", mark)
            and not any(self._content(clause) for clause in clauses_of(mark, []))
            for mark in marks
        )

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
            return self._unread(said, clauses)
        return self._weigh(clauses, self._is_typed_rival)

    def _unread(self, said: str, clauses: Sequence[Clause]) -> bool | str:
        """The reference is not there: another value, or none, or one that is written as nobody here can read."""
        if any(word.raw == RIVAL for clause in clauses for word in clause.words):
            return False
        if any((each.unit is not None and not each.is_glued) or each.is_bound for _, _, each in quantities_in(said)):
            return False  # of another kind, or a bound of it
        if REFUSALS.search(said) or VAGUE.search(said) or not any(self._content(clause) for clause in clauses):
            return False
        return f"what {said!r:.60} says has to be understood"

    def _named(self, said: str, references: Sequence[str]) -> bool | str:
        targets = self._targets(references)
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
        return f"whether {said!r:.60} is another name of {references[0]!r:.60} has to be known"
