"""Single searches (section 2.5.1: what a single-turn search solves is no question), by any part of a question.

Searched for are the whole, each sentence, each clause as it stands and by its telling words alone, each quoted or
capitalized span and each pair of rare words, on the first page of the site's own search and of a full-text index.
"""

from __future__ import annotations

import itertools
import re

from tars_jax.tasks.browsing.encyclopedia import Encyclopedia, body_of
from tars_jax.tasks.browsing.pages import RESULTS
from tars_jax.tasks.browsing.question import BrowsingQuestion

RARE = 10  # words of a question, of which each pair is searched for
_SENTENCE = re.compile(r"(?<=[.?!])\s+")
_CLAUSE = re.compile(
    r"[,;:?!()]|\.(?=\s|$)|\b(?:and|that|which|whose|where|with|who|is|are|was|does|do|lies|lists|borders)\b"
)
_QUOTED = re.compile(r"[“\"]([^”\"]+)[”\"]")
_NAMED = re.compile(r"(?<![.?!] )(?<!^)\b[A-Z]\w+(?:[ -][A-Z]\w+)*")
_WORD = re.compile(r"\w+")


def parts_of(text: str, encyclopedia: Encyclopedia) -> tuple[str, ...]:
    """Queries that somebody may make of a question, each once."""
    sentences = _SENTENCE.split(text)
    clauses = [each for sentence in sentences for each in _CLAUSE.split(sentence)]
    spans = [*_QUOTED.findall(text), *_NAMED.findall(text)]
    counts = {word: encyclopedia.pages_with(word) for word in dict.fromkeys(_WORD.findall(text.casefold()))}
    rare = sorted((word for word, count in counts.items() if count), key=lambda word: counts[word])[:RARE]
    pairs = [" ".join(pair) for pair in itertools.combinations(rare, 2)]
    most = len(encyclopedia.articles) / 2
    telling = {word for word, count in counts.items() if 0 < count < most and not word.isdecimal()}
    cores = [" ".join(word for word in _WORD.findall(each.casefold()) if word in telling) for each in clauses]
    every = (" ".join(each.split()) for each in (text, *sentences, *clauses, *cores, *spans, *pairs))
    return tuple(dict.fromkeys(each for each in every if _WORD.search(each)))


class Searcher:
    """Remembers what it has searched for: the clauses of questions are alike."""

    def __init__(self, encyclopedia: Encyclopedia) -> None:
        self._encyclopedia = encyclopedia
        self._known: dict[str, tuple[frozenset[str], str]] = {}

    def finds(self, question: BrowsingQuestion) -> str | None:
        """The first part by which a page of the proof that has the answer, or the answer itself, is on a first page of
        results; None where there is none."""
        articles = self._encyclopedia.articles
        answers = [words_of(each) for each in question.answers]
        telling = {
            title
            for title in question.plan
            if title == question.plan[-1] or any(each in words_of(body_of(articles[title])) for each in answers)
        }
        for part in parts_of(question.text, self._encyclopedia):
            titles, shown = self._searched(part)
            if not telling.isdisjoint(titles) or any(each in shown for each in answers):
                return part
        return None

    def _searched(self, query: str) -> tuple[frozenset[str], str]:
        """Titles on both first pages of results, and the words that the site shows there."""
        if query not in self._known:
            found, _ = self._encyclopedia.search(query, 0, RESULTS)
            titles = {each.title for each in found} | set(self._encyclopedia.full_text(query))
            shown = " ".join(f"{each.title} / {each.snippet} /" for each in found)
            self._known[query] = frozenset(titles), words_of(shown)
        return self._known[query]


def words_of(text: str) -> str:
    """Words in small letters with a space around each, so that `in` finds whole words."""
    words = re.findall(r"[^\W_]+", text.casefold())
    return f" {' '.join(words)} "
