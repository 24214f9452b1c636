"""Events of a page beside its steps: console, errors, dialogs, downloads, navigations, popups, crashes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from playwright.async_api import ConsoleMessage, Dialog, Download, Frame, Route
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page as PlaywrightPage

from tars_jax.sandbox.browser.clock import REPORTER, TELLER

Report: TypeAlias = Callable[[str, dict[str, Any]], None]  # kind of the event, what there is to say of it
LONGEST_TEXT = 2000  # characters; a page may log its whole state


def watch(page: PlaywrightPage, report: Report, *, downloads: bool, dialogs: str) -> None:
    """Tells `report` of everything from now on. `downloads`: of those too, none of which is kept; `dialogs`: how they
    are answered."""

    def console(message: ConsoleMessage) -> None:
        if message.args or not any(one in message.text for one in (REPORTER, TELLER)):  # of the clock's own policy
            report("console", {"level": message.type, "text": message.text[:LONGEST_TEXT]})

    def navigated(frame: Frame) -> None:
        report("navigation", {"url": frame.url[:LONGEST_TEXT], "main": frame.parent_frame is None})

    def dialog(dialog: Dialog) -> None:
        report("dialog", {"type": dialog.type, "text": dialog.message[:LONGEST_TEXT], "answer": dialogs})

    def download(download: Download) -> None:
        report("download", {"url": download.url[:LONGEST_TEXT], "name": download.suggested_filename, "kept": False})

    page.on("console", console)
    page.on("pageerror", lambda error: report("error", {"text": str(error)[:LONGEST_TEXT]}))
    page.on("framenavigated", navigated)
    page.on("dialog", dialog)
    if downloads:
        page.on("download", download)
    page.on("popup", lambda popup: report("popup", {"url": popup.url[:LONGEST_TEXT], "kept": False}))
    page.on("crash", lambda _: report("crash", {}))


class VirtualMoment:
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
