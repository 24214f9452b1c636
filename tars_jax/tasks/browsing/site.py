"""An encyclopedia as a `Site`: every page is rendered when the browser asks for it, so nothing is written to disk.

What an address shows depends on the encyclopedia alone: the same seed and actions give the same screenshots.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit

from tars_jax.sandbox.browser.clock import ORIGIN
from tars_jax.sandbox.browser.site import Site
from tars_jax.tasks.browsing.encyclopedia import Encyclopedia
from tars_jax.tasks.browsing.pages import article_page, home_page, missing_page, results_page

_LONGEST = 2000  # characters of an address
_LAST_PAGE = 10_000


@dataclasses.dataclass(frozen=True)
class EncyclopediaSite(Site):
    """Addresses: / (or /index.html), /wiki/TITLE, /search?q=WORDS&page=NUMBER."""

    encyclopedia: Encyclopedia | None = dataclasses.field(default=None, compare=False)
    name: str = ""  # sites are the same where their names are

    @classmethod
    def of(cls, encyclopedia: Encyclopedia, name: str) -> EncyclopediaSite:
        return cls(Path("/", "encyclopedia"), "index.html", (), encyclopedia, name)

    def find(self, url: str) -> Path | None:
        """No file: a name that `read` knows the page by. None for what is no page of the encyclopedia."""
        parts = urlsplit(url)
        if f"{parts.scheme}://{parts.netloc}" != ORIGIN or len(url) > _LONGEST:
            return None
        first, _, rest = parts.path.lstrip("/").partition("/")
        if first in ("", "index.html") and not rest:
            return self.root / "home"
        if first == "wiki" and rest:
            return self.root / "wiki" / quote(unquote(rest), safe="")
        if first == "search" and not rest:
            asked = parse_qs(parts.query)
            number = asked.get("page", ["1"])[0]
            page = min(int(number), _LAST_PAGE) if number.isascii() and number.isdecimal() and int(number) else 1
            return self.root / "search" / str(page) / quote(asked.get("q", [""])[0], safe="")
        return None

    def read(self, path: Path, destination: str) -> tuple[bytes, str]:
        encyclopedia = self.encyclopedia
        assert encyclopedia is not None
        kind, *rest = path.relative_to(self.root).parts
        match kind, rest:
            case "wiki", [quoted]:
                title = unquote(quoted)
                article = encyclopedia.find(title)
                page = article_page(article, encyclopedia) if article else missing_page(title)
            case "search", [number, *quoted]:
                page = results_page(encyclopedia, unquote("".join(quoted)), int(number))
            case _:
                page = home_page(encyclopedia)
        return page.encode("utf-8"), "text/html; charset=utf-8"
