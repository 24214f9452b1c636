"""Catalog of encyclopedias, by name.

world              countries, cities and elements (the extra browsing)
foldoc             computing (./launch/websites.sh foldoc)
FILE.xml[.bz2]     a dump of MediaWiki
FILE.zim           a ZIM file (the extra zim)
FILE.jsonl         documents of one's own: {"title": ..., "text": ...} a line
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from pathlib import Path

from tars_jax import InputError
from tars_jax.tasks.browsing.article import Article
from tars_jax.tasks.browsing.documents import read_documents
from tars_jax.tasks.browsing.encyclopedia import Encyclopedia
from tars_jax.tasks.browsing.figures import with_other_figures
from tars_jax.tasks.browsing.foldoc import FILE, read_foldoc
from tars_jax.tasks.browsing.geography import adjectives, read_geography
from tars_jax.tasks.browsing.mediawiki import read_mediawiki
from tars_jax.tasks.browsing.renaming import renamed
from tars_jax.tasks.browsing.zim import read_zim

_REPOSITORY = Path(__file__).parents[3]


@functools.lru_cache(maxsize=4)
def load_encyclopedia(name: str, names_seed: int | None = None) -> Encyclopedia:
    """Entities have other names and figures where `names_seed` is given (`renaming.py`, `figures.py`); None: their own.

    Raises InputError where there is none of that name, and where what it needs is not installed.
    """
    if name == "world":
        articles = read_geography()
        return Encyclopedia(articles if names_seed is None else disguised(articles, names_seed))
    if names_seed is not None:
        raise InputError(f"names_seed must be left out for {name!r}, whose entities keep their names; got {names_seed}")
    if name == "foldoc":
        return Encyclopedia(read_foldoc(foldoc_file()))
    file = Path(name)
    if file.is_file() and file.suffix == ".jsonl":
        return read_documents(file)
    if file.is_file():
        return read_zim(file) if file.suffix == ".zim" else read_mediawiki(file)
    raise InputError(f"encyclopedia must be world, foldoc, or a file .xml, .xml.bz2, .zim or .jsonl; got {name!r}")


def disguised(articles: Sequence[Article], seed: int) -> list[Article]:
    """The world's articles with other names and figures, in their order."""
    return renamed(with_other_figures(articles, seed), seed, adjectives())


def foldoc_file() -> Path:
    """FOLDOC's file, where launch/websites.sh or the system's package has put it."""
    folder = Path(os.environ.get("TARS_JAX_WEBSITES") or _REPOSITORY / ".cache/websites")
    own = folder / "foldoc" / FILE
    return own if own.is_file() or not Path("/", FILE).is_file() else Path("/", FILE)
