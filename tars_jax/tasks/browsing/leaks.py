"""What gives a renamed entity away: names and exact figures that few articles have, and that are still on its page.

Names in prose that are no titles are people, rivers, parties, peoples. A word is a name where it has a capital in the
middle of a sentence, or before another such word, and is written small nowhere in the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tars_jax.tasks.browsing.article import Article, plain

FEW = 3  # articles that have a tell: with more of them, nobody knows which is meant
_FIGURE = re.compile(r"(?<![\w.,])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+|\d{3,})(?![\w]|[.,]\d)")
DIGITS = 4  # that are significant, from which on a figure is exact
FEW_NAMED = 7  # articles: a name that more of them have tells little, and stays
WORD = re.compile(r"[^\W\d_]+")
_CALENDAR = """january february march april may june july august september october november december monday tuesday
wednesday thursday friday saturday sunday i"""
_KEPT = frozenset(_CALENDAR.split())
_END = re.compile(r"[.!?:;\"”“(]\s*$|^\s*$")


def find_leaks(articles: Sequence[Article], disguised: Sequence[Article]) -> dict[str, tuple[str, ...]]:
    """New title -> what of its page tells which it is; those that tell nothing are left out.

    `disguised`: the same articles in their order.
    """
    names = rare_names(articles, FEW)
    figures: dict[str, set[str]] = {}
    for article in articles:
        for figure in _figures(article):
            figures.setdefault(figure, set()).add(article.title)
    found = {}
    for old, new in zip(articles, disguised, strict=True):
        own_names = {name for name, titles in names.items() if old.title in titles} if old.text else set()
        left = {word.casefold() for text, _ in texts_of(new) for word in WORD.findall(text)}
        told = sorted(own_names & left)
        told += sorted(each for each in _figures(old) & _figures(new) if len(figures[each]) <= FEW)
        if told:
            found[new.title] = tuple(told)
    return found


def _figures(article: Article) -> set[str]:
    texts = [*map(plain, article.text), *(fact.shown for fact in article.facts if fact.kind == "number")]
    return {each for text in texts for each in _FIGURE.findall(text) if _digits(each) >= DIGITS and not _is_year(each)}


def _digits(figure: str) -> int:
    plain_figure = figure.replace(",", "").lstrip("0.")
    return len(plain_figure.replace(".", "") if "." in figure else plain_figure.rstrip("0"))


def _is_year(figure: str) -> bool:
    return re.fullmatch(r"[12]\d{3}", figure) is not None


def rare_names(articles: Iterable[Article], most: int = FEW_NAMED) -> dict[str, frozenset[str]]:
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
