"""Results of Search and LinkReader over an encyclopedia: the pages of the site as text.

Search names pages and what kind of thing each is, and quotes none of them: the site's own snippets stand around the
words of a query, so that "Belonia population" would have its answer without a page being read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from tars_jax.sandbox.shell.text import cut
from tars_jax.tasks.browsing.article import LINK, Article, plain
from tars_jax.tasks.browsing.encyclopedia import Encyclopedia
from tars_jax.tasks.browsing.pages import RESULTS, article_url, home_titles

LONGEST = 8000  # characters of a page
_TELLING = 1 / 3  # of a page's lines: a word of a description that more of them have does not tell them apart


class CallResult(NamedTuple):
    """Result of a call; for players, where it leads and what could be an answer."""

    text: str
    page: str = ""  # the title of the page that was read
    titles: tuple[str, ...] = ()  # of the pages that it names
    values: tuple[str, ...] = ()


def home(encyclopedia: Encyclopedia) -> CallResult:
    """The site's home page, which is shown before anything is called."""
    titles = home_titles(encyclopedia)
    return CallResult(f"{len(encyclopedia.articles):,} articles. Some of them: {', '.join(titles)}", "", tuple(titles))


def search(encyclopedia: Encyclopedia, query: str) -> CallResult:
    """The first page of the site's own search: addresses, titles and kinds, the page that is meant among others."""
    found, count = encyclopedia.search(query, 0, RESULTS)
    titles = tuple(each.title for each in found)
    kinds = (encyclopedia.articles[title].kind for title in titles)
    lines = (f"{article_url(title)} {title} ({kind})" for title, kind in zip(titles, kinds, strict=True))
    return CallResult("\n".join((f"{count:,} {'result' if count == 1 else 'results'}", *lines)), "", titles)


def read(encyclopedia: Encyclopedia, address: str, description: str = "") -> CallResult:
    """A page by its address or title, in the order in which the site shows it.

    With a `description` only those lines that have a telling word of it, where there are any.
    """
    article = encyclopedia.find(unquote(urlsplit(address).path.rpartition("/wiki/")[2])) or encyclopedia.find(address)
    if article is None:
        return CallResult(f"LinkReader: there is no page {address[:200]!r}")
    lead, *rest = [_with_addresses(line, encyclopedia) for line in article.text] or [""]
    rows = _rows(article)
    lines = [line for line in (lead, *(f"{name}: {value}" for name, value in rows.items()), *rest) if line]
    kept = matching_lines(description, lines)
    left_out = f" ({len(lines) - len(kept)} further lines)" if len(kept) < len(lines) else ""
    named = tuple(each.title for each in map(encyclopedia.find, article.links) if each and each is not article)
    text = cut("\n".join((f"{article.title}{left_out}", *kept)), LONGEST)
    return CallResult(text, article.title, tuple(dict.fromkeys(named)), (article.title, *rows.values()))


def _rows(article: Article) -> dict[str, str]:
    """As the table of a page has them: a name once, with all of its values."""
    rows: dict[str, list[str]] = {}
    for fact in article.infobox:
        rows.setdefault(fact.name, []).append(plain(fact.shown))
    return {name: ", ".join(values) for name, values in rows.items()}


def _with_addresses(line: str, encyclopedia: Encyclopedia) -> str:
    """A link by other words than its page's title has the address behind them: in words alone nobody sees it."""

    def written(match: re.Match[str]) -> str:
        words, target = match[2] or match[1], encyclopedia.find(match[1])
        known = target is None or encyclopedia.find(words) is target
        return words if known or target is None else f"{words} ({article_url(target.title)})"

    return LINK.sub(written, line)


def matching_lines(description: str, lines: list[str]) -> list[str]:
    """The lines that have a telling word of a description; all where none has."""
    words = [set(_words(line)) for line in lines]
    most = max(1, int(len(lines) * _TELLING))
    wanted = {word for word in _words(description) if 0 < sum(word in each for each in words) <= most}
    return [line for line, each in zip(lines, words, strict=True) if wanted & each] or lines


def _words(text: str) -> Iterator[str]:
    return (match[0] for match in re.finditer(r"\w+", text.casefold()))
