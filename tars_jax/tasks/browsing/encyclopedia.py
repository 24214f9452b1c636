"""All articles of a source by title, with redirects and two searches (SQLite FTS5).

Search is by words: an article that has all of them, in its title first; where there is none, any of them.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tars_jax import InputError
from tars_jax.tasks.browsing.article import Article, plain

MOST_WORDS = 32  # of a query
_FIELDS = "title UNINDEXED, heading, body, tokenize = 'unicode61 remove_diacritics 2'"


class SearchHit(NamedTuple):
    title: str
    snippet: str


class Encyclopedia:
    """Raises InputError for two articles with one title, and for a source without any."""

    def __init__(self, articles: Iterable[Article], redirects: Mapping[str, str] | None = None) -> None:
        self.articles: dict[str, Article] = {}
        for article in articles:
            if self.articles.setdefault(article.title, article) is not article:
                raise InputError(f"titles of an encyclopedia must differ; got {article.title!r} twice")
        if not self.articles:
            raise InputError("an encyclopedia must have articles; got none")
        self._names = {_folded(title): title for title in reversed(self.articles)}
        for name, target in _redirects(self.articles.values(), redirects or {}):
            self._names.setdefault(_folded(name), target)
        self._lock = threading.Lock()  # pages are rendered on one loop, filters ask from others
        self._index: sqlite3.Connection | None = None
        self._counts: dict[str, int] = {}

    def find(self, name: str) -> Article | None:
        """Finds an article by title, whatever the case and underscores, or by a redirect."""
        seen: set[str] = set()
        while (key := _folded(name)) not in seen:
            seen.add(key)
            if (title := self._names.get(key)) is None:
                return None
            if title in self.articles:
                return self.articles[title]
            name = title
        return None

    def of_kind(self, kind: str) -> tuple[Article, ...]:
        return tuple(article for article in self.articles.values() if article.kind == kind)

    def search(self, query: str, start: int = 0, most: int = 10) -> tuple[list[SearchHit], int]:
        """Results from number `start` on, and how many there are: the site's own search, in which titles weigh most."""
        return self._search(query, (0.0, 10.0, 1.0), start, most)

    def full_text(self, query: str, most: int = 10) -> list[str]:
        """Titles by BM25 over all words alike, any of them: what a search engine would make of a whole question."""
        return [title for _, title in self._ranked(_matched(query, " OR "), (0.0, 1.0, 1.0), 0, most)]

    def pages_with(self, word: str) -> int:
        """The number of articles that have a word, whatever its accents."""
        if word not in self._counts:
            self._counts[word] = self._count(_matched(word, " AND "))
        return self._counts[word]

    def _search(
        self, query: str, weights: tuple[float, ...], start: int, most: int
    ) -> tuple[list[SearchHit], int]:  # fmt: skip
        """Articles that have all words, or where none has them any word; an article of that very title comes first."""
        named = self.find(query)
        for matched in (_matched(query, " AND "), _matched(query, " OR ")):
            if count := self._count(matched):
                rows = self._ranked(matched, weights, start, most, named.title if named else "")
                # Afterwards, as a snippet of every match would be made before the best are taken.
                shown = "SELECT title, snippet(pages, 2, '', '', '…', 24) FROM pages WHERE pages MATCH ? AND rowid = ?"
                with self._lock:
                    index = self._indexed()
                    return [SearchHit(*index.execute(shown, [matched, row]).fetchone()) for row, _ in rows], count
        return [], 0

    def _count(self, matched: str) -> int:
        if not matched:
            return 0
        with self._lock:
            (count,) = self._indexed().execute("SELECT count(*) FROM pages WHERE pages MATCH ?", [matched]).fetchone()
        return int(count)

    def _ranked(
        self, matched: str, weights: tuple[float, ...], start: int, most: int, first: str = ""
    ) -> list[tuple[int, str]]:
        """Numbers of rows, and titles. `first`: the title that comes before all others, whatever its weight."""
        if not matched:
            return []
        with self._lock:
            return (
                self._indexed()
                .execute(
                    "SELECT rowid, title FROM pages WHERE pages MATCH ? "
                    "ORDER BY title = ? DESC, bm25(pages, ?, ?, ?), title LIMIT ? OFFSET ?",
                    [matched, first, *weights, most, start],
                )
                .fetchall()
            )

    def _indexed(self) -> sqlite3.Connection:
        if self._index is None:
            index = sqlite3.connect(":memory:", check_same_thread=False)
            index.execute(f"CREATE VIRTUAL TABLE pages USING fts5({_FIELDS})")
            index.executemany(
                "INSERT INTO pages VALUES (?, ?, ?)",
                (
                    (article.title, " ; ".join((article.title, *article.aliases)), body_of(article))
                    for article in self.articles.values()
                ),
            )
            self._index = index
        return self._index


def body_of(article: Article) -> str:
    """The text of a page, its infobox included."""
    facts = (f"{fact.name}: {plain(fact.shown)}" for fact in article.infobox)
    return "\n".join((*map(plain, article.text), *facts))


def _redirects(articles: Iterable[Article], redirects: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    yield from redirects.items()
    for article in articles:
        yield from ((alias, article.title) for alias in article.aliases)


def _folded(name: str) -> str:
    return " ".join(name.replace("_", " ").split()).casefold()


def _matched(query: str, joint: str) -> str:
    """The expression of FTS5 for a query: its words, each once."""
    words = list(dict.fromkeys(re.findall(r"\w+", query.casefold())))[:MOST_WORDS]
    return joint.join(f'"{word}"' for word in words)
