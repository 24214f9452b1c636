"""Filters that reject questions, each with a name under which rejections are counted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tars_jax.data.question_synthesis.chains import is_round_trip
from tars_jax.data.question_synthesis.conditions import Statistics
from tars_jax.data.question_synthesis.proof import CHOICE, CONDITION, HOP, is_proved, not_needed
from tars_jax.data.question_synthesis.searches import Searcher, words_of
from tars_jax.data.question_synthesis.spoken_answers import is_untold
from tars_jax.environment import CannotSay
from tars_jax.judges.answers import says_the_same
from tars_jax.tasks.browsing.article import plain
from tars_jax.tasks.browsing.encyclopedia import Encyclopedia
from tars_jax.tasks.browsing.pages import linked_from_home
from tars_jax.tasks.browsing.question import BrowsingQuestion


class ClosedBookSolver(Protocol):
    """Answers without the encyclopedia, from what it knows by heart: several tries. May raise JudgeFailure."""

    def answers(self, question: BrowsingQuestion) -> Sequence[str]: ...


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

    def answers(self, question: BrowsingQuestion) -> Sequence[str]:
        asked = question.proof["asked"]
        common = self._values.get((asked["kind"], asked["name"]), Counter())
        known = [answer for answer in question.answers if answer in self._titles]
        return [*(value for value, _ in common.most_common(self._tries)), *known]


class EitherSolver:
    """A solver that gives the answers of several solvers."""

    def __init__(self, solvers: Sequence[ClosedBookSolver]) -> None:
        self._solvers = tuple(solvers)

    def answers(self, question: BrowsingQuestion) -> Sequence[str]:
        return [answer for solver in self._solvers for answer in solver.answers(question)]


KNOWN = "known without looking"
UNTOLD = "its judge cannot tell answers"
Filters = dict[str, Callable[[BrowsingQuestion], bool]]


def filters(encyclopedia: Encyclopedia, statistics: Statistics, solver: ClosedBookSolver) -> Filters:
    """Name -> whether a question is to be turned down, in the order in which they are asked."""
    return {
        **proof_filters(statistics),
        **text_filters(encyclopedia),
        KNOWN: lambda question: is_known(question, solver),  # late, as a model may be asked
        UNTOLD: lambda question: is_untold(question, encyclopedia),
    }


def is_known(question: BrowsingQuestion, solver: ClosedBookSolver) -> bool:
    tries = solver.answers(question)
    return any(_may_be_right(each, question) for each in tries)


def _may_be_right(answer: str, question: BrowsingQuestion) -> bool:
    """Also where nobody can say: what may be known by heart is."""
    try:
        return says_the_same(answer, question.reference, question.text)
    except CannotSay:
        return True


def proof_filters(statistics: Statistics) -> Filters:
    """Filters of what is asked, however it is said."""
    seen: set[str] = set()
    linked = linked_from_home(statistics.encyclopedia)

    def is_duplicate(question: BrowsingQuestion) -> bool:
        proof = question.proof
        hops = sorted((each["relation"], each["by"], str(each["conditions"])) for each in proof["hops"])
        key = json.dumps([proof["entity"], sorted(map(str, proof["conditions"])), hops, proof["asked"]["name"]])
        known = key in seen
        seen.add(key)
        return known

    def is_out_of_reach(question: BrowsingQuestion) -> bool:
        """Each entity of the chain, and those among which a hop chooses."""
        titles = set(question.plan)
        for title, hop in zip(question.plan, question.proof["hops"], strict=False):
            titles |= set(statistics.links.of(title, hop["relation"]))
        return not titles <= linked

    last: list[Any] = [None, None]  # a proof, and which part of it is idle: three filters ask

    def is_idle(part: str) -> Callable[[BrowsingQuestion], bool]:
        def is_so(question: BrowsingQuestion) -> bool:
            if last[0] is not question.proof:
                last[:] = question.proof, not_needed(question.proof, statistics)
            return bool(last[1] == part)

        return is_so

    return {
        "duplicate": is_duplicate,
        "not proved unique": lambda question: not is_proved(question.proof, statistics),
        "a round trip": lambda question: is_round_trip(question.proof, statistics),
        "no links lead there": is_out_of_reach,
        **{part: is_idle(part) for part in (CONDITION, CHOICE, HOP)},
    }


def text_filters(encyclopedia: Encyclopedia) -> Filters:
    """Filters of how a question is said."""
    searcher = Searcher(encyclopedia)
    return {"names its answer": says_its_answer, "found by one search": lambda each: searcher.finds(each) is not None}


def says_its_answer(question: BrowsingQuestion) -> bool:
    text = words_of(question.text)
    return any(words_of(each) in text for each in (*question.answers, *question.plan))
