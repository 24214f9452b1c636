"""Search and LinkReader over the web as it is: a search service that the user names, pages of hosts that they allow.

The service answers as SearXNG does: GET ADDRESS?q=WORDS&format=json gives {"results": [{"url", "title", "content"}]}.
Pages are fetched through a proxy that connects to the allowed hosts and to nothing else, redirects included.
"""

from __future__ import annotations

import html.parser
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx

from tars_jax import InputError
from tars_jax.environment import EnvironmentFailure
from tars_jax.envs.benchmarks.live_page import address_of
from tars_jax.sandbox.shell.text import cut
from tars_jax.tasks.browsing.calls import LONGEST, matching_lines
from tars_jax.web.client import NO_ANSWER, NOT_IN_FORM, failing_as, http_client
from tars_jax.web.network import Hosts, Proxy

RESULTS = 8
MOST_LINKS = 40
LARGEST_PAGE = 4 << 20  # bytes
TIME_LIMIT_S = 20.0
MOST_REDIRECTS = 5
_BLOCKS = (
    "p", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "div", "br", "dd", "dt", "section", "article", "table", "ul",
    "ol", "title",
)  # fmt: skip
_HIDDEN = ("script", "style", "noscript", "svg", "template")
_BROWSER = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64)"}  # sites refuse what says that it is a program


class LiveCalls:
    """Calls of a live search service; open until `close`."""

    def __init__(self, hosts: Sequence[str], service: str) -> None:
        """Raises InputError for a service without an address of http or https."""
        parts = urlsplit(service)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"option search must be the address of a search service; got {service!r:.100}")
        self._service, self._hosts = service, Hosts(hosts)
        self._proxy: Proxy | None = None
        self._pages: httpx.AsyncClient | None = None

    async def called(self, name: str, given: Mapping[str, Any]) -> str:
        """Answer to a call. Raises EnvironmentFailure("search") where the service is away: never the agent's fault."""
        if name == "Search":
            return await self.search(str(given.get("query", "")))
        return await self.read(str(given.get("url", "")), str(given.get("description", "")))

    async def search(self, query: str) -> str:
        about = f"{self._service} did not answer as a search service"
        with failing_as(lambda why: EnvironmentFailure("search", f"{about}: {why}"[:300]), NO_ANSWER + NOT_IN_FORM):
            async with http_client(self._service, TIME_LIMIT_S) as client:
                answer = await client.get(self._service, params={"q": query[:500], "format": "json"})
            found = [
                (str(each["url"]), str(each.get("title", "")), str(each.get("content") or ""))
                for each in answer.raise_for_status().json()["results"]
            ]
        lines = [" ".join(f"{url} {title}: {content}".split()) for url, title, content in found[:RESULTS]]
        return cut("\n".join((f"{len(found)} {'result' if len(found) == 1 else 'results'}", *lines)), LONGEST)

    async def read(self, address: str, description: str = "") -> str:
        """A page as text, then where its links lead; with a `description` only lines that have a telling word of it."""
        url = address_of(address.strip())
        try:
            page = await self._fetched(url)
        except (*NO_ANSWER, ValueError) as error:
            return f"LinkReader: {url[:200]} could not be read: {type(error).__name__}"
        if isinstance(page, str):
            return page
        kind, text, url = page
        if "html" not in kind:
            return (
                cut(text, LONGEST)
                if kind.startswith("text/") or "json" in kind
                else f"LinkReader: {url[:200]} is no text"
            )
        reader = _Reader(url)
        reader.feed(text)
        reader.close()
        lines = [line for line in (" ".join(each.split()) for each in "".join(reader.pieces).split("\n")) if line]
        links = [f"{target} {words}" for target, words in dict(reader.links).items()][:MOST_LINKS]
        return "\n".join(
            (cut("\n".join(matching_lines(description, lines)), LONGEST), *(["Links:", *links] if links else []))
        )

    async def close(self) -> None:
        """Closes the connections; a second call does nothing."""
        pages, self._pages = self._pages, None
        proxy, self._proxy = self._proxy, None
        if pages is not None:
            await pages.aclose()
        if proxy is not None:
            proxy.close()

    async def _fetched(self, url: str) -> tuple[str, str, str] | str:
        """Kind, text and address of a page; or why there is none."""
        if self._pages is None:
            self._proxy = Proxy(self._hosts)
            address = f"http://127.0.0.1:{await self._proxy.open()}"
            self._pages = http_client(address, TIME_LIMIT_S, from_environment=False, proxy=address, headers=_BROWSER)
        for _ in range(MOST_REDIRECTS + 1):
            if not self._hosts.allows_url(url):
                return f"LinkReader: {url[:200]} is none of the sites that can be reached here"
            async with self._pages.stream("GET", url) as answer:
                if answer.is_redirect:
                    url = urljoin(url, answer.headers.get("location", ""))
                    continue
                if answer.status_code >= 400:
                    return f"LinkReader: {url[:200]} answered {answer.status_code}"
                body = bytearray()
                async for chunk in answer.aiter_bytes():
                    body += chunk
                    if len(body) > LARGEST_PAGE:
                        break
                kind = answer.headers.get("content-type", "text/html").lower()
                return kind, bytes(body[:LARGEST_PAGE]).decode(answer.charset_encoding or "utf-8", "replace"), url
        return f"LinkReader: {url[:200]} leads from address to address"


class _Reader(html.parser.HTMLParser):
    """The words of a page, and its links with theirs."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self.links: list[tuple[str, str]] = []
        self._url, self._hidden = url, 0
        self._target, self._words = "", list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS:
            self.pieces.append("\n")
        self._hidden += tag in _HIDDEN
        if tag == "a":
            self._target, self._words = dict(attrs).get("href") or "", []

    def handle_endtag(self, tag: str) -> None:
        if tag in _BLOCKS:
            self.pieces.append("\n")
        self._hidden -= tag in _HIDDEN and self._hidden > 0
        if tag == "a" and self._target:
            try:
                target = urljoin(self._url, self._target).partition("#")[0]
            except ValueError:
                target = ""
            if target.startswith(("http:", "https:")) and (words := " ".join("".join(self._words).split())):
                self.links.append((target, words[:100]))
            self._target = ""

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(data)
            self._words.append(data)
