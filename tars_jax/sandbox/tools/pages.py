"""A site that a task names, as `Search` and `LinkReader` see it: there is no other internet."""

from __future__ import annotations

import html.parser
import math
import re
from collections.abc import Mapping
from pathlib import Path

from tars_jax import InputError

_HIDDEN = ("script", "style", "template", "noscript", "head")
_BLOCKS = frozenset(
    ("p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "table", "ul", "ol", "pre")
)
SNIPPET = 240  # characters


class _Text(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.title = ""
        self._pieces: list[str] = []
        self._hidden: list[str] = []
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden.append(tag)
        self._in_title = tag == "title"
        if tag in _BLOCKS:
            self._pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        self._in_title = False
        if tag in _BLOCKS:
            self._pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._hidden:
            self._pieces.append(data)

    def text(self) -> str:
        lines = (" ".join(line.split()) for line in "".join(self._pieces).split("\n"))
        return "\n".join(line for line in lines if line)


def text_of(page: str) -> tuple[str, str]:
    """Title and text of HTML; a page without tags is its own text."""
    if not re.search(r"<[a-zA-Z!/]", page):
        lines = page.strip().split("\n")
        return lines[0].strip(), page.strip()
    parser = _Text()
    parser.feed(page)
    parser.close()
    text = parser.text()
    return parser.title.strip() or text.split("\n")[0][:80], text


class Pages:
    """HTML or text by address."""

    def __init__(self, pages: Mapping[str, str]) -> None:
        self._texts = {url: text_of(page) for url, page in pages.items()}
        self._words = {url: _words(f"{title} {title} {text}") for url, (title, text) in self._texts.items()}

    @classmethod
    def of_folder(cls, folder: Path, base: str) -> Pages:
        """Every .html, .md and .txt below a folder, at the addresses that they have below `base`."""
        files = [
            file for file in sorted(folder.rglob("*")) if file.suffix in (".html", ".md", ".txt") and file.is_file()
        ]
        if not files:
            raise InputError(f"{folder} must hold pages (.html, .md, .txt); got none")
        base = base.rstrip("/")
        return cls({f"{base}/{file.relative_to(folder).as_posix()}": file.read_text("utf-8") for file in files})

    def search(self, query: str, most: int = 10) -> list[tuple[str, str, str]]:
        """Address, title and a passage of the pages that fit best: rare words of the query count more."""
        wanted = set(_words(query))
        holding = {word: sum(word in words for words in self._words.values()) for word in wanted}
        scores = {}
        for url, words in self._words.items():
            score = sum(
                math.log(1 + len(self._words) / holding[word]) * count / (count + 1.5)
                for word in wanted
                if (count := words.count(word))
            )
            if score:
                scores[url] = score
        best = sorted(scores, key=lambda url: (-scores[url], url))[:most]
        return [(url, self._texts[url][0], _passage(self._texts[url][1], wanted)) for url in best]

    def read(self, url: str) -> tuple[str, str] | None:
        """Title and text; None: there is no such page. What follows # is not asked for, nor one last slash."""
        url = url.split("#")[0]
        bare = url.rstrip("/")
        for each in (url, bare, f"{bare}/", f"{bare}/index.html"):
            if each in self._texts:
                return self._texts[each]
        return None


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _passage(text: str, wanted: set[str]) -> str:
    lines = text.split("\n")
    best = max(lines, key=lambda line: len(wanted & set(_words(line))))
    return best if len(best) <= SNIPPET else best[:SNIPPET].rsplit(" ", 1)[0] + " ..."
