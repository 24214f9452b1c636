"""Whether a clause without the reference is an answer, too: another value of the reference's kind."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tars_jax.judges.answers import names
from tars_jax.judges.answers.clauses import RIVAL, UNSURE, Clause
from tars_jax.judges.answers.reading import Reading
from tars_jax.judges.answers.speech import AUXILIARIES, COPULAS, FRAMES, JOINS, NEGATIONS, SUBORDINATE
from tars_jax.judges.answers.words import Word

_OTHERWISE = frozenset(("called", "known", "aka"))


class Rivals(Reading):
    def _is_typed_rival(self, clause: Clause, clauses: Sequence[Clause]) -> bool | str:
        if not any(word.raw in (RIVAL, UNSURE) for word in clause.words) or clause.is_negated:
            return False
        if (clause.before == "(" and clause.words[0].raw == RIVAL) or clause.before in ("but", "however"):
            return "a number beside it is another"
        if clause.before in SUBORDINATE:
            return False
        if self._content(clause) and clause.before not in ("or", "/"):
            return False
        return "a number beside it is another" if all(word.raw != RIVAL for word in clause.words) else True

    def _is_named_rival(self, clause: Clause, clauses: Sequence[Clause]) -> bool | str:
        """Whether a clause without the reference is an answer, too."""
        content = [word for word in clause.words if not self._is_free(word) and word.text not in NEGATIONS]
        said = [*clause.words, *(clause.shares.words if clause.shares else ())]
        says = [word for word in said if self._is_asked(word) and word.text not in FRAMES | NEGATIONS]
        if self._asks_not and content and (says or {word.text for word in said} & (AUXILIARIES - COPULAS)):
            return clause.is_negated  # "Milan did not", "Ida did attend"
        if not content or clause.is_negated or len(content) > 5 or not self._is_one_run(clause, content):
            return False
        if clause.before in ("because", "since", "whereas", "although", "though"):
            return False
        first = clause.words.index(content[0])
        if ({"a", "an"} & set(clause.texts[:first]) or clause.texts[first - 1 : first] == ["of"]) and content[
            0
        ].capital:
            return False  # it is described
        if set(clause.texts[:3]) & _OTHERWISE or all(names.is_designator(word) for word in content):
            return False  # "also called wolfram", "Inc."
        if self._is_known_as_right(content, clauses):
            return False
        if any(not self._is_free(word) for word in clause.label) or self._is_explained(clause, clauses):
            return False
        if clause.after == ":" and clause.texts[0] not in ("either", "possibly"):
            return False
        if any(self._is_shortened(word, clauses) for word in content):
            return False
        is_bare = clause.before in ("?", ";", ".", "\n") and len(content) == len(clause.words)
        listed = (
            clause.before in JOINS
            or (clause.before == "\n" and not self._is_lower)
            or (clause.before == "" and clause.after in (",", "/", "\n", "?"))
            or is_bare
        )
        is_offered = all(word.text in self._offered for word in content)
        if is_offered:
            return True
        if self._has_figures and not any(re.search(r"\d", word.raw) for word in content):
            return "it leaves a choice" if clause.before in ("or", "/") else False
        if self._has_letters and not any(word.raw[0].isalpha() for word in content):
            return False
        if self._is_lower and not self._has_figures and any(word.raw[0].isdigit() for word in content):
            return False
        if self._is_lower:
            return (
                listed
                and len(content) <= max(self._length, 2)
                and (clause.before != "\n" or is_bare)
                and len(clause.words) <= len(content) + 4
            )
        if not all(word.capital or word.raw[0].isdigit() for word in content):
            if any(each.right and each.shares is clause for each in clauses) and content[0].capital:
                return "what both did has to be understood"
            return clause.before in ("or", "/")
        if not listed and all(word.raw.isupper() and len(word.raw) > 1 for word in content):
            return False
        text = " ".join(word.raw for word in content)
        own = any(
            names.is_territory(" ".join(word.raw for word in each.words[a:b]))
            for each in clauses
            for a, b in each.right
        )
        if clause.before in (",", "(") and names.is_territory(text) and not own:
            return f"whether it lies in {text!r:.40} has to be known"
        if not listed and len(clause.words) == 1 and clause.before not in ("", ";", "?"):
            return f"whether {text!r:.40} is meant has to be understood"
        return True

    def _is_known_as_right(self, content: Sequence[Word], clauses: Sequence[Clause]) -> bool:
        """Whether it is another name of what was said: "Moscow (Москва)"."""
        said = " ".join(word.raw for word in content)
        right = {" ".join(word.raw for word in each.words[a:b]) for each in clauses for a, b in each.right}
        return any(names.knows_better(said, each) for each in right)

    def _is_shortened(self, word: Word, clauses: Sequence[Clause]) -> bool:
        """Goethestr. beside Goethestraße."""
        targets = {each.text for clause in clauses for a, b in clause.right for each in clause.words[a:b]}
        return (
            len(word.text) > 3
            and word.text.isalpha()
            and any(target.startswith(word.text) and target != word.text for target in targets)
        )

    def _is_one_run(self, clause: Clause, content: Sequence[Word]) -> bool:
        """A name is one run of words; a sentence about it has more."""
        places = [place for place, word in enumerate(clause.words) if word in content]
        between = clause.words[places[0] : places[-1] + 1]
        return all(word in content or word.text in names.SMALL - {"in"} for word in between)

    def _is_explained(self, clause: Clause, clauses: Sequence[Clause]) -> bool:
        """ "H2, that is, hydrogen"."""
        later = [each for each in clauses[clauses.index(clause) + 1 :]][:1]
        return any(each.texts[:2] == ["that", "is"] or each.texts[0] in ("ie", "namely") for each in later)
