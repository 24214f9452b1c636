"""Whether an answer says yes or no: in so many words, or by saying again what the question says ("they did not")."""

from __future__ import annotations

from collections.abc import Sequence

from tars_jax.judges.answers import names
from tars_jax.judges.answers.clauses import Clause, clauses_of
from tars_jax.judges.answers.kinds import as_yes_or_no, reason_of
from tars_jax.judges.answers.speech import (
    AUXILIARIES,
    CONTRAST,
    COPULAS,
    FRAMES,
    NEGATIONS,
    PAST,
    PRESENT,
    PRONOUNS,
    REFUSALS,
    WRONG,
)
from tars_jax.judges.answers.weighing import Weighing

_TURNS = frozenset(("wait", "actually", "correction", "rather", "anymore", "previously", "formerly"))
_CONDITIONS = frozenset(("if", "unless", "except", "until", "provided", "depending"))
_SURELY = frozenset(word for word in FRAMES if word.endswith("ly") and word != "only") | {"indeed"}
_IT = frozenset(("it", "they", "he", "she"))
_KNOWS = frozenset(("know", "sure", "say", "tell", "find", "determine"))
_OPPOSES = frozenset(("but", "however", "although", "though", "if", "unless", "until"))


class Polarity(Weighing):
    def _polarity(self, said: str, reference: str) -> bool | str:
        wanted = as_yes_or_no(reference)
        clauses = clauses_of(said, [])
        reason = {word.text for word in names.words_of(reason_of(reference))} - FRAMES - NEGATIONS
        told = [text for number, clause in enumerate(clauses) for text in self._told(clause, number)]
        if len(set(told)) > 1:
            return False
        if any(self._denies(clause, reason) for clause in clauses):
            return False
        if not told:
            return self._implied(said, clauses, wanted, reason)
        if REFUSALS.search(said) and len(clauses) == 1 and "?" in said:
            return False
        if told[0] == wanted and self._is_turned(clauses, wanted):
            return "it takes something back"
        if any(({clause.before, *clause.texts} & _CONDITIONS) - reason for clause in clauses):
            return "it sets a condition"
        figures = {word for word in reason if word.isdigit()}
        said_figures = {word for clause in clauses for word in clause.texts if word.isdigit()}
        if told[0] == wanted and figures and said_figures and not figures & said_figures:
            return "it gives another reason"
        return told[0] == wanted

    def _told(self, clause: Clause, number: int) -> list[str]:
        """The yes and no of a clause; the no of "no one" is none."""
        if (
            self._speaks_to_the_judge(clause)
            or clause.after == "?"
            or (len(clause.words) > 1 and set(clause.texts) & WRONG)
        ):
            return []
        texts = [as_yes_or_no(text) or text for text in clause.texts]
        return [
            text
            for place, text in enumerate(texts)
            if text in ("yes", "no")
            and (place == 0 or texts[place - 1] in FRAMES | CONTRAST)
            and not set(texts[:place]) & NEGATIONS
            and (
                text == "yes"
                or place == len(texts) - 1
                or (
                    place == 0
                    and (number == 0 or clause.before == "or")
                    and texts[1] in PRONOUNS | AUXILIARIES | {"not", "the"}
                )
            )
        ]

    def _denies(self, clause: Clause, reason: set[str]) -> bool:
        """Whether a clause denies the reason that the reference has: "no, it was not disallowed"."""
        return clause.has_not and any(names.akin(word, each) for each in reason - self._asked for word in clause.texts)

    def _is_turned(self, clauses: Sequence[Clause], wanted: str) -> bool:
        """Whether what comes after yes or no speaks against it."""
        first = next(number for number, clause in enumerate(clauses) if self._told(clause, number))
        for clause in clauses[first + 1 :]:
            if wanted == "yes" and (self._is_described_otherwise(clause) or clause.texts[-1] == "no"):
                return True
            if wanted == "no" and self._is_affirmed(clause):
                return True
            bare = not self._content(clause) - {"not"} and clause.before in (",", "but", ";", "")
            if wanted == "yes" and clause.is_negated and (bare or clause.before in ("but", "however")):
                return True
            if (
                "not only" in " ".join(clause.texts)
                or set(clause.texts) & _TURNS
                or self._echo(clause) not in ("", wanted)
            ):
                return True
        return False

    def _is_described_otherwise(self, clause: Clause) -> bool:
        """ "Yes, it is closed", of what may be open."""
        content = {word.text for word in clause.words if word.raw.isalpha() and not self._is_free(word)} - NEGATIONS
        asked = self._asked - FRAMES
        is_said = any(names.akin(text, each) for text in clause.texts[2:3] for each in asked)
        is_about_it = clause.texts[0] in _IT and set(clause.texts[1:2]) <= COPULAS and clause.before not in CONTRAST
        named = {word.text for word in clause.words if word.capital} - FRAMES
        is_elsewhere = (
            bool(self._asked_names and named) and not named & self._asked and (is_about_it or clause.before == "but")
        )
        return not clause.has_not and (is_elsewhere or (is_about_it and len(content) == 1 and not is_said))

    def _is_affirmed(self, clause: Clause) -> bool:
        """ "It charges $5", of what may not charge."""
        is_about_it = clause.texts[0] in _IT and not clause.has_not
        return is_about_it and any(
            names.akin(verb, each) for verb in clause.texts[1:2] for each in self._asked - FRAMES
        )

    def _echo(self, clause: Clause) -> str:
        """yes or no, where a clause has the question's own words or stands for them: it does; they did not."""
        said = "no" if clause.is_negated else "yes"
        rest = set(clause.texts) - PRONOUNS - NEGATIONS - _SURELY
        if rest and rest <= AUXILIARIES and clause.texts[0] in PRONOUNS:
            return said
        content = {word.text for word in clause.words if not self._is_free(word)} - NEGATIONS
        is_of_question = any(names.akin(text, each) for text in clause.texts for each in self._asked - FRAMES)
        is_short = len(clause.words) < 3 or clause.texts == ["not", "at", "all"]
        is_short = (
            is_short and not as_yes_or_no(clause.texts[-1]) and (clause.texts[-1] == "not" or not content - {"all"})
        )
        is_said_of = is_short or (is_of_question and not content)
        if clause.has_not and "not" in (clause.texts[-1], clause.texts[0]) and is_said_of:
            return "no"  # "unfortunately not", "not in her lifetime"
        if set(clause.texts) & PAST and not set(clause.texts) & PRESENT and self._asks_of_now:
            return ""  # "it was open"
        asked = self._asked - FRAMES - NEGATIONS
        if rest & asked and rest <= AUXILIARIES | asked and clause.texts[0] in PRONOUNS:
            return said
        share = sum(any(names.akin(text, each) for text in clause.texts) for each in asked)
        return said if not content and share and share * 2 >= len(asked) else ""

    def _implied(self, said: str, clauses: Sequence[Clause], wanted: str, reason: set[str]) -> bool | str:
        echoes = {self._echo(clause) for clause in clauses} - {""}
        is_plain = "?" not in said and not any(clause.before in _OPPOSES for clause in clauses)
        if len(echoes) == 1 and is_plain:
            return echoes.pop() == wanted
        stated = [
            clause
            for clause in clauses
            if not clause.has_not
            and reason
            and all(any(names.akin(word, each) for word in clause.texts) for each in reason)
        ]
        if stated and is_plain and not self._content(stated[0]) - reason:
            return True
        if not any(self._content(clause) for clause in clauses):
            return False
        if any(clause.is_negated and set(clause.texts) & _KNOWS for clause in clauses):
            return False
        return "it says neither yes nor no"
