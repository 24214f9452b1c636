"""The pages of an encyclopedia as HTML: home, article, results of a search. The same article gives the same bytes.

One column of large plain letters, so that a page reads at 320 pixels; no script, no image, no address outside.
"""

from __future__ import annotations

import html
from urllib.parse import quote, urlencode

from tars_jax.tasks.browsing.article import LINK, Article
from tars_jax.tasks.browsing.encyclopedia import Encyclopedia

RESULTS = 8  # of a search on one page
MOST_HOME = 24  # articles that the home page names
_STYLE = """
body{margin:0;background:#fff;color:#111;font:16px/1.35 "DejaVu Sans",Verdana,sans-serif}
header{background:#234;padding:6px 8px;display:flex;gap:8px;align-items:center}
header a{color:#fff;font-weight:bold;text-decoration:none}
form{margin:0;display:flex;flex:1;gap:4px}
input{flex:1;min-width:60px;font:16px sans-serif;padding:3px 5px;border:1px solid #555;background:#fff;color:#000}
button{font:16px sans-serif;padding:2px 8px}
main{padding:6px 10px 20px;max-width:760px}
h1{font-size:23px;margin:4px 0 6px}
p{margin:6px 0}
a{color:#0645ad}
table{border-collapse:collapse;margin:6px 0;background:#f4f4f0;border:1px solid #999}
th,td{text-align:left;vertical-align:top;padding:2px 8px;border-top:1px solid #ccc}
th{font-weight:bold}
small{color:#444;display:block}
"""


def article_url(title: str) -> str:
    return f"/wiki/{quote(title, safe='')}"


def search_url(query: str, page: int = 1) -> str:
    return f"/search?{urlencode({'q': query, **({'page': page} if page > 1 else {})})}"


def home_page(encyclopedia: Encyclopedia) -> str:
    listed = " · ".join(_link(title, title) for title in home_titles(encyclopedia))
    said = f"{len(encyclopedia.articles):,} articles. Some of them:"
    return _page("Encyclopedia", f"<h1>Encyclopedia</h1><p>{said}</p><p>{listed}</p>")


def home_titles(encyclopedia: Encyclopedia) -> list[str]:
    """Titles on the home page, as many of each kind, from all over the source."""
    kinds: dict[str, list[str]] = {}
    for title, article in encyclopedia.articles.items():
        kinds.setdefault(article.kind, []).append(title)
    most = max(1, MOST_HOME // len(kinds))
    return [title for titles in kinds.values() for title in titles[:: max(1, len(titles) // most)][:most]]


def linked_from_home(encyclopedia: Encyclopedia) -> frozenset[str]:
    """Titles of all articles to which links lead from the home page."""
    found: set[str] = set()
    left = home_titles(encyclopedia)
    while left:
        title = left.pop()
        if title not in found:
            found.add(title)
            linked = map(encyclopedia.find, encyclopedia.articles[title].links)
            left += [each.title for each in linked if each]
    return frozenset(found)


def article_page(article: Article, encyclopedia: Encyclopedia) -> str:
    rows: dict[str, list[str]] = {}
    for fact in article.infobox:
        rows.setdefault(fact.name, []).append(_marked(fact.shown, article, encyclopedia))
    box = "".join(f"<tr><th>{html.escape(name)}<td>{', '.join(values)}" for name, values in rows.items())
    lead, *rest = [f"<p>{_marked(line, article, encyclopedia)}</p>" for line in article.text] or [""]
    return _page(
        article.title,
        f"<h1>{html.escape(article.title)}</h1>{lead}{f'<table>{box}</table>' if box else ''}{''.join(rest)}",
    )


def results_page(encyclopedia: Encyclopedia, query: str, page: int) -> str:
    """Page number `page`, from 1; beyond the last there are no results."""
    found, count = encyclopedia.search(query, (page - 1) * RESULTS, RESULTS)
    listed = "".join(
        f"<p>{_link(each.title, each.title)}<small>{html.escape(each.snippet)}</small></p>" for each in found
    )
    pages = -(-count // RESULTS)
    ways = [
        f'<a href="{html.escape(search_url(query, number))}">{words}</a>'
        for number, words in ((page - 1, "‹ Previous page"), (page + 1, "Next page ›"))
        if 1 <= number <= pages
    ]
    said = f"{count:,} {'result' if count == 1 else 'results'}, page {page} of {max(pages, 1)}"
    return _page(f"Search: {query}", f"<h1>Search</h1><p>{said}</p>{listed}<p>{' '.join(ways)}</p>", query)


def missing_page(name: str) -> str:
    return _page("No such page", f"<h1>No such page</h1><p>There is no page {html.escape(name[:200])}.</p>")


def _page(title: str, body: str, query: str = "") -> str:
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<style>{_STYLE}</style><header><a href="/">Home</a><form action="/search">'
        f'<input name="q" autocomplete="off" aria-label="Search" value="{html.escape(query)}">'
        f"<button>Search</button></form></header><main>{body}</main></html>"
    )


def _link(title: str, words: str) -> str:
    return f'<a href="{article_url(title)}">{html.escape(words)}</a>'


def _marked(text: str, article: Article, encyclopedia: Encyclopedia) -> str:
    """HTML of a line with links; one to the page itself, or to nothing, is its words in bold or plain."""
    pieces, done = [], 0
    for match in LINK.finditer(text):
        pieces.append(html.escape(text[done : match.start()]))
        target, words = encyclopedia.find(match[1]), match[2] or match[1]
        if target is None:
            pieces.append(html.escape(words))
        elif target.title == article.title:
            pieces.append(f"<b>{html.escape(words)}</b>")
        else:
            pieces.append(_link(target.title, words))
        done = match.end()
    return "".join((*pieces, html.escape(text[done:])))
