"""The virtual moment of a page, kept for the documents of other origins that begin in it (clock/moment.js)."""

from __future__ import annotations

import contextlib
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Route


class Moment:
    """Answers requests to the clock's own address: with a number (ms) to tell it, without one to ask."""

    def __init__(self) -> None:
        self._ms = "0"

    async def answer(self, route: Route) -> None:
        """A request of the page."""
        if told := urlsplit(route.request.url).query:
            self._ms = told
        headers = {"Access-Control-Allow-Origin": "*", "Content-Type": "text/plain", "Cache-Control": "no-store"}
        with contextlib.suppress(PlaywrightError):  # the page may be gone before its answer
            await route.fulfill(body=self._ms, headers=headers)
