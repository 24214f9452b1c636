"""What gives a renamed entity away: names and exact figures that few articles have, and that are still on its page."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tars_jax.tasks.browsing.article import Article, plain
from tars_jax.tasks.browsing.prose_names import WORD, rare_names, texts_of

FEW = 3  # articles that have a tell: with more of them, nobody knows which is meant
_FIGURE = re.compile(r"(?<![\w.,])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+|\d{3,})(?![\w]|[.,]\d)")
DIGITS = 4  # that are significant, from which on a figure is exact


def leaks(articles: Sequence[Article], disguised: Sequence[Article]) -> dict[str, tuple[str, ...]]:
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
