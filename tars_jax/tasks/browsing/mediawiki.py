"""Dumps of MediaWiki (pages-articles.xml, .bz2 or .gz), read as a stream: articles of namespace 0 and redirects."""

from __future__ import annotations

import bz2
import gzip
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from tars_jax import InputError
from tars_jax.tasks.browsing.article import Article
from tars_jax.tasks.browsing.encyclopedia import Encyclopedia

_OPENS: dict[str, Any] = {".bz2": bz2.open, ".gz": gzip.open}
_DROPPED = re.compile(r"<!--.*?-->|<ref\b[^<>]*/>|<ref\b.*?</ref>|<math\b.*?</math>|<gallery\b.*?</gallery>", re.DOTALL)
_INNERMOST = re.compile(r"\{\{[^{}]*\}\}|\{\|(?:(?!\{\|).)*?\|\}", re.DOTALL)  # templates and tables
_MEDIA = re.compile(r"\[\[(?:File|Image|Category|Media|[a-z]{2,3}):(?:[^\[\]]|\[\[[^\[\]]*\]\])*\]\]", re.IGNORECASE)
_REDIRECT = re.compile(r"#REDIRECT:?\s*\[\[([^\]|#]+)", re.IGNORECASE)


def read_mediawiki(file: Path, most: int | None = None) -> Encyclopedia:
    """`most`: articles to read at most. Raises InputError for a file that is no dump, and names where it is damaged."""
    articles: dict[str, Article] = {}
    redirects: dict[str, str] = {}
    try:
        for title, target, text in _pages(file):
            if target:
                redirects[title] = target
            elif title not in articles:
                articles[title] = Article(title, "article", tuple(paragraphs_of(text)))
                if most is not None and len(articles) >= most:
                    break
    except (OSError, EOFError, ElementTree.ParseError) as error:
        raise InputError(f"{file} must be a dump of MediaWiki; got {error} after {len(articles)} articles") from error
    if not articles:
        raise InputError(f"{file} must be a dump of MediaWiki with articles of namespace 0; got none")
    return Encyclopedia(articles.values(), redirects)


def _pages(file: Path) -> Iterator[tuple[str, str, str]]:
    """(title, target of a redirect or "", wikitext) of every page of namespace 0."""
    with cast(IO[bytes], _OPENS.get(file.suffix, open)(file, "rb")) as opened:
        root = None
        for event, node in ElementTree.iterparse(opened, ("start", "end")):
            if root is None:
                root = node
            if event != "end" or _name(node) != "page":
                continue
            found = {_name(each): each for each in node.iter()}
            text = (found["text"].text or "") if "text" in found else ""
            if "title" in found and (found["ns"].text if "ns" in found else "0") == "0":
                said = found["redirect"].get("title", "") if "redirect" in found else ""
                match = _REDIRECT.match(text.lstrip())
                yield found["title"].text or "", said or (match[1].strip() if match else ""), text
            root.clear()  # a dump is larger than memory


def _name(node: ElementTree.Element) -> str:
    return node.tag.rpartition("}")[2]


def paragraphs_of(text: str) -> Iterator[str]:
    """Prose of wikitext with its [[links]]; templates, tables, notes, pictures and categories are left out."""
    text = _DROPPED.sub("", text)
    while (shorter := _INNERMOST.sub("", text)) != text:
        text = shorter
    text = _MEDIA.sub("", text)
    text = re.sub(r"\[https?://\S+ ([^\]]*)\]", r"\1", text)
    text = re.sub(r"\[https?://\S+\]|</?[a-zA-Z][^<>]*>|'{2,}", "", text)
    text = re.sub(r"\[\[([^\[\]|#]+)#[^\[\]|]*(\|[^\[\]]+)?\]\]", r"[[\1\2]]", text)
    for line in text.splitlines():
        line = line.strip().lstrip("*#:; ").strip()
        line = re.sub(r"^=+\s*(.*?)\s*=+$", r"\1", line)
        if line:
            yield " ".join(line.split())
