"""FOLDOC, the Free On-line Dictionary of Computing (GFDL), as Debian's dict-foldoc holds it.

    ./launch/websites.sh foldoc

A file of dictd: entries are headword, indented body with {links}, "<fields>", and the date of the last change.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path

from tars_jax import InputError
from tars_jax.tasks.browsing.article import LINK, Article, Fact

FILE = "usr/share/dictd/foldoc.dict.dz"  # below the folder that the package is unpacked in
_FIELDS = re.compile(r"\s*<([^<>]{2,80})>\s*")
_YEAR = re.compile(r"\b(19[3-9]\d|20[0-2]\d)\b")
_DATE = re.compile(r"\((\d{4})-\d\d-\d\d\)\s*$")


def read_foldoc(file: Path) -> list[Article]:
    """Raises InputError for another file."""
    try:
        with gzip.open(file, "rt", encoding="utf-8", errors="replace") as opened:  # a dictzip is a gzip
            text = opened.read()
    except (OSError, EOFError) as error:
        raise InputError(f"foldoc must be {FILE} of dict-foldoc (./launch/websites.sh foldoc); got {file}") from error
    entries: dict[str, str] = {}
    for title, body in _entries(text):
        entries.setdefault(title, body)
    if not entries:
        raise InputError(f"{file} must hold entries of dictd; got none")
    folded = {title.casefold(): title for title in reversed(entries)}
    return [_article(title, body, folded) for title, body in entries.items()]


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """A headword stands at the margin; what follows it is indented or empty."""
    title = ""
    body: list[str] = []
    for line in text.splitlines():
        if line and not line[0].isspace():
            if title and any(body):
                yield title, "\n".join(body)
            title, body = ("" if line.startswith("00-database") else line.strip()), []
        else:
            body.append(line.strip())
    if title and any(body):
        yield title, "\n".join(body)


def _article(title: str, body: str, folded: dict[str, str]) -> Article:
    facts: list[Fact] = []
    dated = _DATE.search(body)
    if dated:
        body = body[: dated.start()]
    if fields := _FIELDS.match(body):
        facts += [Fact("field", "class", each.strip()) for each in fields[1].split(",") if each.strip()]
        body = body[fields.end() :]
    paragraphs = [
        _linked(" ".join(paragraph.split()), folded) for paragraph in re.split(r"\n\s*\n", body) if paragraph.strip()
    ]
    linked = dict.fromkeys(target for each in paragraphs for target, _ in LINK.findall(each))
    facts += [Fact("mentions", "entity", target) for target in linked if target != title]
    years = dict.fromkeys(int(year) for each in paragraphs for year in _YEAR.findall(each))
    facts += [Fact("speaks of", "year", year) for year in years]
    if initial := re.search(r"[^\W_]", title):
        facts.append(Fact("begins with", "class", initial[0].upper()))
    if dated:
        facts.append(Fact("entry revised in", "year", int(dated[1])))
    return Article(title, "computing term", tuple(paragraphs), tuple(facts))


def _linked(text: str, folded: dict[str, str]) -> str:
    """With {term} and {term (address)} as links where there is such an entry, else as their words."""

    def link(match: re.Match[str]) -> str:
        words = re.sub(r"\s*\((?:https?|ftp|mailto|news):[^)]*\)$", "", match[1]).strip()
        target = folded.get(words.casefold())
        if target is None or "|" in target or "[" in target or "]" in target:
            return words
        return f"[[{target}]]" if target == words else f"[[{target}|{words}]]"

    return re.sub(r"\{([^{}]+)\}", link, text.replace("[[", "[ [").replace("]]", "] ]"))
