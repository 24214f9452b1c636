"""Whoever is logged in to the site, as the host has it ask for pages and send forms."""

from __future__ import annotations

import copy
import html.parser
import http.client
import http.cookiejar
import os
import pathlib
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Mapping
from typing import Any

WAIT_S, LARGEST = 10.0, 8 << 20
ANSWERED_S = 5.0  # for a request that nobody waits for any more
CLOSE_WAIT = "08"  # in the system's table of connections: the other side has closed it, this one has not


class VisitError(Exception):
    """Said to the host."""


class Stays(urllib.request.HTTPRedirectHandler):
    """Goes nowhere else: who is redirected is told so."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Visitor:
    def __init__(self, port: int) -> None:
        self.port = port
        self.cookies = http.cookiejar.CookieJar()
        self.browser = opener(self.cookies)
        self.agent: urllib.request.OpenerDirector | None = None  # whom the host sends requests for, since the reset

    def http(self, method: str, path: str, body: str, kind: str, answer_s: float) -> tuple[int, str]:
        try:
            return self.asked(self.browser, method, path, body, {"Content-Type": kind}, answer_s)[:2]
        except (OSError, http.client.HTTPException) as error:
            raise VisitError(f"{method} {path}: {error}") from error

    def request(
        self, method: str, path: str, body: str, headers: Mapping[str, str], answer_s: float
    ) -> tuple[int, str, str]:  # fmt: skip
        """Status, text and where a redirect leads; for an agent, which begins with the visitor's cookies and has its
        own from then on. Status 0: there is no answer, and why."""
        if self.agent is None:
            cookies = http.cookiejar.CookieJar()
            for cookie in self.cookies:
                cookies.set_cookie(copy.copy(cookie))
            self.agent = opener(cookies, Stays())
        try:
            return self.asked(self.agent, method, path, body, headers, answer_s)
        except (OSError, ValueError, http.client.HTTPException) as error:
            return 0, f"{error or type(error).__name__}", ""

    def asked(
        self, browser: urllib.request.OpenerDirector, method: str, path: str, body: str, more: Mapping[str, str],
        answer_s: float,
    ) -> tuple[int, str, str]:  # fmt: skip
        url = f"http://127.0.0.1:{self.port}{urllib.parse.quote(path, safe='/?&=%:+,;@!$()*~[]#')}"
        host = f"localhost:{self.port}"
        headers = {"Host": host, "Accept": "*/*", **{name: value for name, value in more.items() if value}}
        headers.setdefault("Content-Type", "application/json")
        if method == "POST":  # some take a form from their own pages alone
            headers["Referer"] = f"http://{host}/"
        request = urllib.request.Request(url, body.encode() if body else None, headers, method=method)
        try:
            with browser.open(request, timeout=answer_s) as answer:
                return answer.status, text_of(answer, answer_s), ""
        except urllib.error.HTTPError as error:
            with error:
                return error.code, text_of(error, answer_s), error.headers.get("Location") or ""

    def submit(self, path: str, fields: Mapping[str, str], action: str, anew: bool) -> dict[str, Any]:
        """Sends the form of a page that has these fields, with what else it holds; status, text, cookies after it.

        A name that ends with ! need not be in the form: a button, for instance. `anew`: without the cookies so far.
        """
        if anew:
            self.cookies.clear()
        status, page = self.http("GET", path, "", "", WAIT_S)
        form = VisitedForm(name for name in fields if not name.endswith("!"))
        form.feed(page)
        form.close()
        if form.found is None:
            raise VisitError(f"{path} has no form with {', '.join(fields)} (status {status})")
        sent = {**form.found["fields"], **{name.removesuffix("!"): value for name, value in fields.items()}}
        parts = urllib.parse.urlsplit(urllib.parse.urljoin(path, action or form.found["action"] or path))
        where = parts.path + (f"?{parts.query}" if parts.query else "")
        status, page = self.http(
            "POST", where, urllib.parse.urlencode(sent), "application/x-www-form-urlencoded", WAIT_S
        )
        cookies = [{"name": each.name, "value": each.value or "", "path": each.path} for each in self.cookies]
        return {"status": status, "text": page, "cookies": cookies}

    def await_answers(self) -> None:
        """Waits until the site has no request whose sender is gone: what that writes would come after the reset."""
        last = time.monotonic() + ANSWERED_S
        while unheard(self.port) and time.monotonic() < last:
            time.sleep(0.01)


def text_of(answer: Any, within_s: float) -> str:
    """Raises TimeoutError for one that does not end: some sites send events for as long as somebody listens."""
    pieces, size, last = [], 0, time.monotonic() + within_s
    while size < LARGEST and (piece := answer.read1(1 << 16)):
        pieces.append(piece)
        size += len(piece)
        if time.monotonic() > last:
            raise TimeoutError(f"it did not end within {within_s:g} s")
    return b"".join(pieces)[:LARGEST].decode(errors="replace")


def opener(
    cookies: http.cookiejar.CookieJar, *more: urllib.request.BaseHandler
) -> urllib.request.OpenerDirector:  # fmt: skip
    without_proxies = urllib.request.ProxyHandler({})
    return urllib.request.build_opener(without_proxies, urllib.request.HTTPCookieProcessor(cookies), *more)


class VisitedForm(html.parser.HTMLParser):
    """The first form of a page that has a field of each wanted name, with what its fields hold."""

    def __init__(self, wanted: Iterable[str]) -> None:
        super().__init__()
        self.wanted = set(wanted)
        self.found: dict[str, Any] | None = None
        self.form: dict[str, Any] | None = None
        self.text: str | None = None  # the textarea, and the select, that is being read
        self.select: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        name = values.get("name")
        if tag == "form":
            self.end()
            self.form = {"action": values.get("action", ""), "fields": {}, "names": set()}
        if self.form is None or tag == "form":
            return
        fields: dict[str, str] = self.form["fields"]
        if tag == "option" and self.select:
            value = values.get("value", "")
            if "selected" in values or self.select not in fields:
                fields[self.select] = value
        elif name and tag in ("input", "textarea", "select", "button"):
            self.form["names"].add(name)
            kind = values.get("type", "submit" if tag == "button" else "text").lower()
            if tag == "select":
                self.select = name
            elif tag == "textarea":
                self.text = name
                fields[name] = ""
            elif kind not in ("checkbox", "radio", "submit", "button", "image", "file", "reset") or "checked" in values:
                fields[name] = values.get("value", "on" if kind == "checkbox" else "")

    def handle_data(self, data: str) -> None:
        if self.text and self.form is not None:
            self.form["fields"][self.text] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.end()
        elif tag == "textarea":
            self.text = None
        elif tag == "select":
            self.select = None

    def end(self) -> None:
        form, self.form, self.text, self.select = self.form, None, None, None
        if form is not None and self.found is None and self.wanted <= form["names"]:
            self.found = form

    def close(self) -> None:
        super().close()
        self.end()


def unheard(port: int) -> bool:
    """Whether a program still works for somebody who has closed the connection to this port."""
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if os.path.exists(table):
            found += [line.split() for line in pathlib.Path(table).read_text().splitlines()[1:]]
    return any(row[1].endswith(f":{port:04X}") and row[3] == CLOSE_WAIT for row in found)
