"""Whether a clause commits to the reference, and what other clauses say against it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tars_jax.judges.answers import names
from tars_jax.judges.answers.clauses import RIVAL, UNSURE, Clause
from tars_jax.judges.answers.rivals import Rivals
from tars_jax.judges.answers.speech import (
    BOUNDS,
    COPULAS,
    FALSELY,
    FRAMES,
    KINDS,
    NEGATIONS,
    OPEN,
    PREPOSITIONS,
    PRONOUNS,
    RELATIONS,
    TITLES,
    WRONG,
)  # fmt: skip
from tars_jax.judges.answers.words import Word, folded

IsRival = Callable[[Clause, Sequence[Clause]], bool | str]  # True, False, or why nobody can say


class Weighing(Rivals):
    def _weigh(self, clauses: Sequence[Clause], is_rival: IsRival) -> bool | str:
        own = [clause for clause in clauses if clause.right]
        first = clauses.index(own[0])
        is_open = any(OPEN.search(" ".join(clause.texts)) for clause in clauses[: first + 1])
        reasons: list[str] = ["it may be one of several"] if is_open else []
        is_clean = False
        last = 0
        for clause in own:
            found = self._is_clean(clause)
            if found is True:
                is_clean, last = True, clauses.index(clause)
            elif isinstance(found, str):
                reasons.append(found)
        if not is_clean and not reasons:
            return False
        for number, clause in enumerate(clauses):
            if clause in own:
                if clause.before == "or" and number and self._is_another(clauses[number - 1]):
                    return False
                continue
            rival = is_rival(clause, clauses)
            if rival is True and any(each.before in ("but", "however") for each in own if clauses.index(each) > number):
                rival = "one is set against the other"
            if rival is True:
                return False
            if isinstance(rival, str):
                reasons.append(rival)
                is_clean = False
            content = self._content(clause)
            if clause.before == "or" and content:
                reasons.append("it leaves a choice")
                is_clean = False
            if number > last and set(clause.texts) & WRONG and not content - WRONG:
                return False
            is_doubt = clause.texts[0] == "not" and clause.before == "if"
            if is_doubt or (number > last and set(clause.texts) & FALSELY):
                reasons.append("it takes something back")
                is_clean = False
            is_said_of = clause.before == '"' and clause.texts[0] in COPULAS and clauses[number - 1].right
            if number and is_said_of and content:
                reasons.append("what it says of it has to be understood")
                is_clean = False
            own_content = (content - {word.text for word in clause.label} - NEGATIONS) or self._is_marked(clause)
            if number > last and clause.is_negated and not (own_content or self._asks_not) and clause.before != "(":
                reasons.append("it takes something back")
                is_clean = False
        return True if is_clean and not is_open else (reasons[0] if reasons else False)

    def _is_another(self, clause: Clause) -> bool:
        return self._is_clean(clause) is not True if clause.right else bool(self._content(clause))

    def _is_clean(self, clause: Clause) -> bool | str:
        """Whether a clause with the reference commits to it; why it is unclear."""
        covered = {place for start, end in clause.right for place in range(start, end)}
        rest = [(place, word) for place, word in enumerate(clause.words) if place not in covered]
        texts = clause.texts
        if self._is_denied(clause):
            return False
        start, end = clause.right[0]
        follower = clause.words[end] if end < len(clause.words) else None
        leader = clause.words[start - 1] if start else None
        if any(clause.words[stop - 1].is_possessive for _, stop in clause.right) and follower is not None:
            return "something of it is meant"
        if (
            follower is not None
            and len(follower.text) == 1
            and end + 1 == len(clause.words)
            and not self._is_marked(clause)
        ):
            return False  # vitamin A is not vitamin
        if (
            follower is not None
            and follower.capital
            and not self._is_marked(clause)
            and not self._is_asked(follower)
            and (follower.text not in FRAMES or follower.text in KINDS)
            and follower.text not in names.DESIGNATORS
        ):
            if follower.text in KINDS or follower.text in self._offered:
                return False  # Mexico City is not Mexico
            return self._may_be_another(follower)
        beside = [follower] if follower is not None and follower.is_joined else []
        beside += [leader] if leader is not None and clause.words[start].is_joined else []
        if any(not self._is_asked(word) for word in beside) and not self._is_marked(clause):
            return "something joined to it is meant"
        if self._has_all_names and follower is not None and self._is_lengthened(clause, end):
            return False  # Santiago de Cuba is not Santiago
        is_titled = leader is not None and self._is_title(leader, start == 1)
        if (
            leader is not None
            and leader.capital
            and (leader.text in ("will", "may") or not self._is_free(leader))
            and not self._is_marked(clause)
            and not is_titled
        ):
            return self._may_be_another(leader)
        if any(word.raw in (RIVAL, UNSURE) for _, word in rest):
            return "another number stands beside it"
        compared = (
            self._offered | {"than", "over", "versus", "vs"}
            if self._offered & {word.text for _, word in rest}
            else set()
        )
        if compared and not self._is_compared(clause, start):
            return False
        is_bound = leader is not None and leader.text in BOUNDS and (self._has_days or leader.text != "by")
        if self._is_marked(clause) and is_bound:
            return False
        if set(texts) & RELATIONS:
            return "what it says of it has to be understood"
        if self._is_turned_round(clause, start, end):
            return False
        is_sentence = bool(set(texts[:start]) & PRONOUNS and set(texts[:start]) & COPULAS)
        for place, word in [*rest, *((0, word) for word in (() if is_sentence else clause.label))]:
            if self._is_free(word) or (is_titled and place == start - 1) or word.text in compared:
                continue
            if (self._asks_not and word.text in NEGATIONS) or (word is follower and word.text in names.DESIGNATORS):
                continue
            if self._is_marked(clause) and word.text == "between":
                continue
            if self._is_described and word.capital and place < start and set(texts[place + 1 : start]) & COPULAS:
                continue  # the question describes what the answer names
            if (
                place > end
                and (self._has_verb(texts[:start]) or self._is_followed_by_verb(texts[end:place]))
                and set(texts[end:place]) & PREPOSITIONS
                and ("of" not in texts[end:place] or self._is_marked(clause))
            ):
                continue
            if leader is not None and leader.text == "of" and word.text in KINDS and not word.capital:
                continue
            return f"what {word.raw!r:.40} says of it has to be understood"
        if self._is_part_of_subject(texts[:start]):
            return "another thing is said to be it"
        return True

    def _may_be_another(self, beside: Word) -> bool | str:
        """A name that is longer than the reference; of one that has all its names it is another."""
        return False if self._has_all_names else f"whether {beside.raw!r:.40} makes it another has to be known"

    def _is_lengthened(self, clause: Clause, end: int) -> bool:
        """By a small word within names and a name."""
        joined = clause.words[end : end + 2]
        return len(joined) == 2 and joined[0].text in names.SMALL and joined[1].capital and not self._is_free(joined[1])

    def _is_denied(self, clause: Clause) -> bool:
        """By a "not"; where the question has one, by the lack of it: "Lisbon hosted it" of who did not."""
        if not self._asks_not:
            return clause.is_negated
        end = clause.right[0][1]
        if clause.is_negated:
            return bool(set(clause.texts[: clause.right[0][0]]) & NEGATIONS or not set(clause.texts[end:]) & NEGATIONS)
        return any(self._is_asked(word) and word.text not in FRAMES for word in clause.words[end:])

    def _is_title(self, word: Word, is_first: bool) -> bool:
        return (
            (word.text in TITLES and (self._shouts or not word.raw[1:].isupper()))
            or any(names.akin(word.text, each) for each in self._asked)
            or (is_first and word.text in KINDS and not word.capital)
        )

    def _is_part_of_subject(self, before: Sequence[str]) -> bool:
        """Of "the protagonist's best friend" the answer speaks of the protagonist."""
        for owner, owned in re.findall(r"(\w+)'s (\w+(?: \w+)?)", folded(self._question)):
            if owner in before and not any(names.akin(each, part) for part in owned.split() for each in before):
                return True
        return False

    def _is_compared(self, clause: Clause, start: int) -> bool:
        """As in "Paris is larger than Lyon", where the question asks which is larger."""
        texts = clause.texts
        other = min(
            place
            for place, text in enumerate(texts)
            if text in self._offered and not any(a <= place < b for a, b in clause.right)
        )
        return other > start and bool(set(texts[start:other]) & {"than", "over", "not", "versus", "vs"})

    def _has_verb(self, before: Sequence[str]) -> bool:
        return len(before) > 1 or bool(set(before) & {"is", "was", "are", "were", "in", "by"})

    def _is_followed_by_verb(self, after: Sequence[str]) -> bool:
        """As in "Ada wrote it in 1843", but not in "Paris in Texas"."""
        first = next((place for place, text in enumerate(after) if text in PREPOSITIONS), len(after))
        return any(text in COPULAS or any(names.akin(text, each) for each in self._asked) for text in after[:first])

    def _is_turned_round(self, clause: Clause, start: int, end: int) -> bool:
        """As "the capital of Paris is France", where the capital of France was asked for."""
        before = [text for text in clause.texts[:start] if text not in names.ARTICLES]
        after = clause.texts[end:]
        is_said_of = bool(after) and after[0] in COPULAS and len(after) > 1
        return bool(before) and (before[-1] == "than" or (before[-1] in ("of", "in") and is_said_of))
