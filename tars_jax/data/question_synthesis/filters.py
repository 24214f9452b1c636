"""What turns a question down, each with a name under which it is counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tars_jax.data.question_synthesis.chains import are_proved
from tars_jax.data.question_synthesis.conditions import Statistics
from tars_jax.data.question_synthesis.needed import CHOICE, CONDITION, HOP, not_needed
from tars_jax.data.question_synthesis.obfuscation import is_proved
from tars_jax.judges.answers import says_the_same
from tars_jax.tasks.browsing.article import plain
from tars_jax.tasks.browsing.encyclopedia import Encyclopedia
from tars_jax.tasks.browsing.pages import RESULTS
from tars_jax.tasks.browsing.question import Question


class ClosedBookSolver(Protocol):
    """Answers without the encyclopedia, from what it knows by heart: several tries. May raise JudgeFailure."""

    def answers(self, question: Question) -> Sequence[str]: ...


class FrequentAnswers:
    """The embedded default: what a guesser who has seen many answers would say.

    Of a class the most frequent values, of an entity those that most others link to. `titles` are the entities' own
    names, of a source without renaming, which are known by heart.
    """

    def __init__(self, encyclopedia: Encyclopedia, titles: frozenset[str] = frozenset(), tries: int = 8) -> None:
        self._titles, self._tries = titles, tries
        self._values: dict[tuple[str, str], Counter[str]] = {}
        linked: Counter[str] = Counter()
        for article in encyclopedia.articles.values():
            linked.update(article.links)
            for fact in article.facts:
                self._values.setdefault((article.kind, fact.name), Counter())[plain(fact.shown)] += 1
        for title, count in linked.items():
            if title in encyclopedia.articles:
                kind = encyclopedia.articles[title].kind
                self._values.setdefault((kind, "name"), Counter())[title] = count

    def answers(self, question: Question) -> Sequence[str]:
        asked = question.proof["asked"]
        common = self._values.get((asked["kind"], asked["name"]), Counter())
        known = [answer for answer in question.answers if answer in self._titles]
        return [*(value for value, _ in common.most_common(self._tries)), *known]


class EitherSolver:
    """What any of several solvers says."""

    def __init__(self, solvers: Sequence[ClosedBookSolver]) -> None:
        self._solvers = tuple(solvers)

    def answers(self, question: Question) -> Sequence[str]:
        return [answer for solver in self._solvers for answer in solver.answers(question)]


def filters(
    encyclopedia: Encyclopedia, statistics: Statistics, solver: ClosedBookSolver
) -> dict[str, Callable[[Question], bool]]:
    """Name -> whether a question is to be turned down, in the order in which they are asked."""
    seen: set[str] = set()

    def is_duplicate(question: Question) -> bool:
        key = " ".join(sorted(re.findall(r"\w+", question.text.casefold())))
        known = key in seen
        seen.add(key)
        return known

    def not_unique(question: Question) -> bool:
        start = encyclopedia.articles.get(question.proof["entity"])
        return start is None or not (
            is_proved(question.proof, statistics) and are_proved(start, question.proof["hops"], statistics)
        )

    last: list[Any] = [None, None]  # a proof, and which part of it is idle: three filters ask

    def is_idle(part: str) -> Callable[[Question], bool]:
        def is_so(question: Question) -> bool:
            if last[0] is not question.proof:
                last[:] = question.proof, not_needed(question.proof, statistics)
            return bool(last[1] == part)

        return is_so

    def says_its_answer(question: Question) -> bool:
        text = _words(question.text)
        return any(_words(each) in text for each in (*question.answers, *question.plan))

    def is_known(question: Question) -> bool:
        tries = solver.answers(question)
        return any(says_the_same(each, question.reference, question.text) for each in tries)

    def is_found_at_once(question: Question) -> bool:
        """The page with the answer is on the first page of either search for the question's own words."""
        found = {each.title for each in encyclopedia.search(question.text, 0, RESULTS)[0]}
        return question.plan[-1] in found | set(encyclopedia.full_text(question.text))

    return {
        "duplicate": is_duplicate,
        "not proved unique": not_unique,
        **{part: is_idle(part) for part in (CONDITION, CHOICE, HOP)},
        "names its answer": says_its_answer,
        "found by one search": is_found_at_once,
        "known without looking": is_known,  # last, as a model may be asked
    }


def _words(text: str) -> str:
    words = re.findall(r"[^\W_]+", text.casefold())
    return f" {' '.join(words)} "
