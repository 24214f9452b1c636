"""Network trace of a page as HAR 1.2, for whoever scores an agent by its requests.

Pictures, styles, scripts and fonts are left out, as nobody scores them. Bodies of answers are kept where they are JSON
and small, since a document that has gone has taken its body with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import re
from collections.abc import Collection, Coroutine
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

from playwright.async_api import BrowserContext, Request, Response
from playwright.async_api import Error as PlaywrightError

LEFT_OUT = ("image", "stylesheet", "script", "font", "media")  # resource types
LARGEST_BODY = 1 << 16  # bytes of a body that is kept
MOST_ENTRIES = 5000
WAIT_S = 5.0  # for what is on its way when the trace is asked for
_SECRET = re.compile(r"auth|token|secret|api-?key", re.IGNORECASE)  # cookies are scored
_OWN = ".invalid"  # hosts of the sandbox's own pages


class NetworkTrace:
    """Records all requests of a context from now on."""

    def __init__(self, context: BrowserContext, hidden: Collection[str] = ()) -> None:
        """`hidden`: names of headers whose values are kept to nobody, beside those that are known to hold secrets."""
        self._context = context
        self._hidden = frozenset(name.lower() for name in hidden)
        self._entries: dict[Request, dict[str, Any]] = {}
        self._reading: set[asyncio.Task[None]] = set()
        context.on("request", self._asked)
        context.on("response", self._answered)

    async def entries(self) -> list[dict[str, Any]]:
        """Entries in the order of the requests; one without an answer has the status 0."""
        if self._reading:
            await asyncio.wait(self._reading, timeout=WAIT_S)
        for entry in self._entries.values():
            self._hide(entry["request"])
            self._hide(entry["response"])
        return list(self._entries.values())

    def _hide(self, part: dict[str, Any]) -> None:
        for header in part["headers"]:
            if header["name"].lower() in self._hidden or _SECRET.search(header["name"]):
                header["value"] = "[REDACTED]"

    def close(self) -> None:
        """Stops recording."""
        self._context.remove_listener("request", self._asked)
        self._context.remove_listener("response", self._answered)
        for each in self._reading:
            each.cancel()

    def _asked(self, request: Request) -> None:
        parts = urlsplit(request.url)
        own = (parts.hostname or "").endswith(_OWN) or parts.scheme not in ("http", "https")
        if own or request.resource_type in LEFT_OUT or len(self._entries) >= MOST_ENTRIES:
            return
        self._entries[request] = entry = _entry(request)
        self._soon(_read_headers(request, entry))

    def _answered(self, response: Response) -> None:
        if (entry := self._entries.get(response.request)) is not None:
            _note_answer(response, entry)
            self._soon(_read_answer(response, entry))

    def _soon(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._reading.add(task)
        task.add_done_callback(self._reading.discard)


def har_of(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Contents of a HAR file."""
    return {"log": {"version": "1.2", "creator": {"name": "tars_jax", "version": "1"}, "entries": entries}}


def _entry(request: Request) -> dict[str, Any]:
    asked: dict[str, Any] = {
        "method": request.method, "url": request.url, "httpVersion": "HTTP/1.1",
        "headers": _listed(request.headers), "queryString": _query(request.url), "cookies": [], "headersSize": -1,
        "bodySize": -1,
    }  # fmt: skip
    if (body := request.post_data_buffer) is not None:
        kind = request.headers.get("content-type", "")
        asked["postData"] = {"mimeType": kind, "text": body.decode("utf-8", "replace"), "params": []}
    answer = {
        "status": 0, "statusText": "", "httpVersion": "HTTP/1.1", "headers": [], "cookies": [], "redirectURL": "",
        "content": {"size": -1, "mimeType": "x-unknown"}, "headersSize": -1, "bodySize": -1,
    }  # fmt: skip
    return {
        "startedDateTime": datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"), "time": -1,
        "request": asked, "response": answer, "cache": {}, "timings": {"send": -1, "wait": -1, "receive": -1},
    }  # fmt: skip


async def _read_headers(request: Request, entry: dict[str, Any]) -> None:
    """Adds headers that the browser has added, such as who refers to it; the first ones stay where the page is gone."""
    with contextlib.suppress(PlaywrightError):
        entry["request"]["headers"] = _listed(await request.all_headers())


def _note_answer(response: Response, entry: dict[str, Any]) -> None:
    kind = response.headers.get("content-type", "x-unknown")
    entry["response"] |= {
        "status": response.status, "statusText": response.status_text, "headers": _listed(response.headers),
        "redirectURL": _redirect(response), "content": {"size": -1, "mimeType": kind},
    }  # fmt: skip


async def _read_answer(response: Response, entry: dict[str, Any]) -> None:
    with contextlib.suppress(PlaywrightError):
        headers = await response.headers_array()
        entry["response"]["headers"] = [{"name": each["name"], "value": each["value"]} for each in headers]
        entry["response"]["cookies"] = [
            cookie for each in headers if each["name"].lower() == "set-cookie" for cookie in _cookies(each["value"])
        ]
    content = entry["response"]["content"]
    if "json" in content["mimeType"] and not entry["response"]["redirectURL"]:
        with contextlib.suppress(PlaywrightError):
            body = await response.body()
            content["size"] = len(body)
            if len(body) <= LARGEST_BODY:
                content["text"] = body.decode("utf-8", "replace")


def _redirect(response: Response) -> str:
    location = response.headers.get("location", "") if 300 <= response.status < 400 else ""
    return urljoin(response.url, location) if location else ""


def _cookies(header: str) -> list[dict[str, str]]:
    """Cookies of one Set-Cookie header, or of several that the browser gives on lines of their own."""
    pairs = (line.partition(";")[0].partition("=") for line in header.splitlines())
    return [{"name": name.strip(), "value": value.strip()} for name, _, value in pairs if name.strip()]


def _listed(headers: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers.items()]


def _query(url: str) -> list[dict[str, str]]:
    try:
        pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    except ValueError:  # of more fields than anybody reads
        return []
    return [{"name": name, "value": value} for name, value in pairs]
