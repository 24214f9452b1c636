"""A page of the sandbox's browser in a session: its localhost and its files are the computer's, its time is virtual.

It runs beside the computer. Where it has ended (a browser was killed, the session was suspended or copied, the service
was started again), the next call opens another at the same address, and its answer says `restarted`.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tars_jax import InputError
from tars_jax.sandbox.browser.events import InputEvent
from tars_jax.sandbox.browser.manager import BrowserManager
from tars_jax.sandbox.browser.screenshots import PageObservation
from tars_jax.sandbox.browser.sessions.calls import LONGEST_ADVANCE_MS
from tars_jax.sandbox.computer.equipped.page import BLANK, ComputerPage
from tars_jax.sandbox.computer.guest_machine import GuestMachine
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.sandbox.service.computers.part import SessionPart, Work, read_act
from tars_jax.web.protocol import RequestFields

SHOWS_MS = 100.0  # virtual, after an address was opened, where the call says no other time
MOST_FILES = 100  # of a dialog

Browsers = Callable[[], Awaitable[BrowserManager]]


class PageCalls(SessionPart):
    """Calls are carried out in turn."""

    def __init__(
        self, machine: GuestMachine, browsers: Browsers, size: tuple[int, int],
        snapshot: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """`snapshot`: of the page that this one follows."""
        self._machine, self._browsers, self._size = machine, browsers, size
        self._page: ComputerPage | None = None
        self._url = "" if snapshot is None else str(snapshot["url"])
        self._restarted = snapshot is not None
        self._turn = asyncio.Lock()
        self._shown: PageObservation | None = None
        self._closed = False
        self.calls = {
            "start": self._start, "act": self._act, "screenshot": self._screenshot, "navigate": self._navigate,
            "back": self._back, "choose_files": self._choose_files, "downloads": self._downloads,
        }  # fmt: skip

    def snapshot(self) -> Any:
        return {"url": self._url}

    async def open(self) -> None:
        """Opens the page. Raises SandboxFailure."""
        async with self._turn:
            await self._opened()

    async def detach(self) -> None:
        async with self._turn:
            await self._end()

    async def close(self) -> None:
        self._closed = True
        await self._end()

    async def picture(self) -> bytes:
        """PNG of what it showed last."""
        shown = self._shown
        if shown is None:
            async with self._turn:
                await self._opened()
                shown = self._shown or await self._carried_out([], 0.0)
        return await asyncio.to_thread(lambda: shown.png)

    async def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, for clients of others whose API reads documents."""
        async with self._turn:
            return await self._safely((await self._opened()).page.evaluate(expression))

    async def _opened(self) -> ComputerPage:
        """The page, another where the last one has ended."""
        if self._closed:
            raise SandboxFailure("browser", "the page has ended with its session")
        if self._page is None:
            self._page = page = await ComputerPage.open(await self._browsers(), self._machine, self._size)
            self._shown = await self._safely(page.start(seed=0))
            if self._url:
                await self._safely(page.navigate(self._url))
                await self._carried_out([], SHOWS_MS)
        return self._page

    async def _safely(self, work: Awaitable[Any]) -> Any:
        """The result of work on the page. A page that fails is replaced with the next call."""
        try:
            return await work
        except SandboxFailure:
            await self._end()
            raise

    async def _end(self) -> None:
        page, self._page = self._page, None
        if page is not None:
            self._restarted, self._shown = True, None
            await page.close()

    async def _carried_out(self, events: list[InputEvent], advance_ms: float) -> PageObservation:
        assert self._page is not None
        self._shown = shown = await self._safely(self._page.act(events, advance_ms=advance_ms))
        url = "" if shown.data["url"] == BLANK.url else shown.data["url"]
        if url != self._url:
            self._url = url
            self.kept()
        return shown

    async def _answer(self, shown: PageObservation) -> dict[str, Any]:
        restarted, self._restarted = self._restarted, False
        png = await asyncio.to_thread(lambda: shown.png)
        data = {**shown.data, "url": self._url or "about:blank"}
        return {"png": base64.b64encode(png).decode(), "data": data, "restarted": restarted}

    def _start(self, fields: RequestFields) -> Work:
        """{seed} -> as `act`: the page as it is, at time 0"""
        seed = fields.integer("seed", 0, 0, 1 << 62) or 0

        async def work() -> Any:
            async with self._turn:
                page = await self._opened()
                self._shown = await self._safely(page.start(seed=seed))
                return await self._answer(self._shown)

        return work

    def _act(self, fields: RequestFields) -> Work:
        """{events, advance_ms} -> {png, data: {title, url, dialog}, restarted}: as the call of a page"""
        events, advance_ms = read_act(
            fields, LONGEST_ADVANCE_MS, "a page of a computer tells its title and address alone"
        )

        async def work() -> Any:
            async with self._turn:
                await self._opened()
                return await self._answer(await self._carried_out(events, advance_ms))

        return work

    def _screenshot(self, fields: RequestFields) -> Work:
        async def work() -> Any:
            async with self._turn:
                await self._opened()
                return await self._answer(self._shown or await self._carried_out([], 0.0))

        return work

    def _navigate(self, fields: RequestFields) -> Work:
        """{address, advance_ms?} -> as `act`; an address of the computer, such as http://localhost:8000/"""
        address, shows_ms = fields.text("address"), _shows_ms(fields)

        async def work() -> Any:
            async with self._turn:
                page = await self._opened()
                await self._safely(page.navigate(address))
                return await self._answer(await self._carried_out([], shows_ms))

        return work

    def _back(self, fields: RequestFields) -> Work:
        """{advance_ms?} -> as `act`"""
        shows_ms = _shows_ms(fields)

        async def work() -> Any:
            async with self._turn:
                page = await self._opened()
                await self._safely(page.back())
                return await self._answer(await self._carried_out([], shows_ms))

        return work

    def _choose_files(self, fields: RequestFields) -> Work:
        """{paths, advance_ms?} -> as `act`: answers the page's dialog with files of the computer"""
        paths, shows_ms = fields.array("paths", required=True), _shows_ms(fields)
        if not all(isinstance(path, str) for path in paths) or not len(paths) <= MOST_FILES:
            raise fields.error("paths", f"at most {MOST_FILES} texts")

        async def work() -> Any:
            async with self._turn:
                page = await self._opened()
                if self._restarted:
                    raise InputError("a dialog must be open for files to be chosen; the page was opened anew")
                await self._safely(page.choose_files(paths))
                return await self._answer(await self._carried_out([], shows_ms))

        return work

    def _downloads(self, fields: RequestFields) -> Work:
        """-> {paths}: where in the computer what the page has downloaded lies"""

        async def work() -> Any:
            async with self._turn:
                page = await self._opened()
                await self._carried_out([], 0.0)  # brings what has arrived since
                return {"paths": list(page.downloads.values())}

        return work


def _shows_ms(fields: RequestFields) -> float:
    """Virtual milliseconds that pass behind what was done, so that it shows."""
    return fields.number("advance_ms", SHOWS_MS, 0.0, LONGEST_ADVANCE_MS)
