"""Names in prose that are no titles: people, rivers, parties, peoples. Few articles have each, so that it tells which.

A word is a name where it has a capital in the middle of a sentence, or before another such word, and is written small
nowhere in the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tars_jax.tasks.browsing.article import Article, plain

FEW = 7  # articles: a name that more of them have tells little, and stays
WORD = re.compile(r"[^\W\d_]+")
_CALENDAR = """january february march april may june july august september october november december monday tuesday
wednesday thursday friday saturday sunday i"""
_KEPT = frozenset(_CALENDAR.split())
_END = re.compile(r"[.!?:;\"”“(]\s*$|^\s*$")


def rare_names(articles: Iterable[Article], most: int = FEW) -> dict[str, frozenset[str]]:
    """Names in small letters -> titles of the at most `most` articles that have them."""
    small: set[str] = set()
    capital: dict[str, set[str]] = {}
    inside: set[str] = set()
    for article in articles:
        for text, is_sentence in texts_of(article):
            words = list(WORD.finditer(text))
            for place, match in enumerate(words):
                word = match[0]
                if not word[0].isupper():
                    small.add(word)
                    continue
                folded = word.casefold()
                capital.setdefault(folded, set()).add(article.title)
                follows = words[place + 1] if place + 1 < len(words) else None
                before_name = (
                    follows is not None and follows[0][0].isupper() and text[match.end() : follows.start()] == " "
                )
                if not is_sentence or before_name or not _END.search(text[max(0, match.start() - 3) : match.start()]):
                    inside.add(folded)
    return {
        name: frozenset(titles)
        for name, titles in capital.items()
        if len(titles) <= most and name in inside and name not in small and name not in _KEPT and len(name) > 1
    }


def texts_of(article: Article) -> Iterable[tuple[str, bool]]:
    """(text, whether it consists of sentences): prose and classes, without the marks of links."""
    yield from ((plain(line), True) for line in article.text)
    yield from ((str(fact.value), False) for fact in article.facts if fact.kind == "class")
