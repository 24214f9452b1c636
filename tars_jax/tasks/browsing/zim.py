"""ZIM files, in which Kiwix distributes Wikipedia and other sites: HTML pages, read through libzim (extra `zim`)."""

from __future__ import annotations

import html.parser
from pathlib import Path
from urllib.parse import unquote

from tars_jax import InputError
from tars_jax.tasks.browsing.article import Article
from tars_jax.tasks.browsing.encyclopedia import Encyclopedia

_BLOCKS = ("p", "li", "tr", "h1", "h2", "h3", "h4", "div", "br", "dd", "dt")
_HIDDEN = ("script", "style", "head", "noscript")


def read_zim(file: Path, most: int | None = None) -> Encyclopedia:
    """Raises InputError without libzim, and for a file that is no ZIM."""
    try:
        from libzim.reader import Archive
    except ImportError:
        raise InputError(
            "libzim must be installed, by the extra zim, to read a ZIM file; got no module libzim"
        ) from None
    try:
        archive = Archive(file)
    except RuntimeError as error:
        raise InputError(f"{file} must be a ZIM file; got {error}") from error
    pages, redirects, titles = {}, {}, {}
    for number in range(archive.all_entry_count):
        entry = archive._get_entry_by_id(number)
        if entry.is_redirect:
            redirects[entry.title] = entry.get_redirect_entry().title
        elif entry.get_item().mimetype.startswith("text/html"):
            titles[entry.path] = entry.title
            pages[entry.title] = bytes(entry.get_item().content).decode("utf-8", "replace")
            if most is not None and len(pages) >= most:
                break
    made = [Article(title, "article", tuple(_paragraphs(page, titles))) for title, page in pages.items()]
    return Encyclopedia(made, redirects)


def _paragraphs(page: str, titles: dict[str, str]) -> list[str]:
    reader = _Reader(titles)
    reader.feed(page)
    reader.close()
    return [line for line in (" ".join(each.split()) for each in "".join(reader.pieces).split("\n")) if line]


class _Reader(html.parser.HTMLParser):
    def __init__(self, titles: dict[str, str]) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._titles, self._hidden, self._target, self._words = titles, 0, "", ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in _HIDDEN
        if tag in _BLOCKS:
            self.pieces.append("\n")
        if tag == "a":
            path = unquote((dict(attrs).get("href") or "").split("#")[0]).removeprefix("./").lstrip("/")
            self._target, self._words = self._titles.get(path, ""), ""

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in _HIDDEN and self._hidden > 0
        if tag in _BLOCKS:
            self.pieces.append("\n")
        if tag == "a" and self._target:
            words = " ".join(self._words.split())
            self.pieces.append(f"[[{self._target}|{words}]]" if words else "")
            self._target = ""

    def handle_data(self, data: str) -> None:
        if self._hidden:
            return
        safe = data.replace("[[", "[ [").replace("]]", "] ]")
        if self._target:
            self._words += safe.replace("|", " ").replace("[", "(").replace("]", ")")
        else:
            self.pieces.append(safe)
