"""One leased page that outlives its browser: calls are journaled, and a lost page is replayed."""

from __future__ import annotations

import asyncio
import dataclasses
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from tars_jax import InputError
from tars_jax.sandbox.browser.downloads import Downloads
from tars_jax.sandbox.browser.events import InputEvent
from tars_jax.sandbox.browser.page import Page
from tars_jax.sandbox.browser.page_events import Report
from tars_jax.sandbox.browser.screenshots import PageObservation
from tars_jax.sandbox.browser.sessions.calls import Act, Call, Evaluate, Start, call_to_json, checked
from tars_jax.sandbox.browser.sessions.journal import ERROR, Journal, JournalEntry, replay, result_of, stored
from tars_jax.sandbox.browser.sessions.recording import PageRecording
from tars_jax.sandbox.browser.sessions.specs import location_of, spec_at
from tars_jax.sandbox.browser.site import PageSpec
from tars_jax.sandbox.failures import PageError, SandboxFailure, SessionEnded
from tars_jax.sandbox.sessions.leased_session import Lease, LeasedSession, brief

T = TypeVar("T")
OpenPage: TypeAlias = Callable[[PageSpec, Report], Awaitable[Page]]
RECOVERIES = 2  # of one call
REMEMBERED = 4  # answers
LONG_WAY = 200  # calls; a start beyond begins on a fresh page


class PageSession(LeasedSession):
    """A page of a BrowserManager under a lease, with the page's own interface: start, act, evaluate, close.

    When the infrastructure under it fails, the call that met the failure is repeated on a new page that has gone the
    same way, screenshot by screenshot. A call that hung is not repeated, and raises SandboxFailure("timeout"); the next
    call finds the page as it was before. SandboxFailure("diverged") says that another screenshot came. A page with an
    open network is brought back to its last place instead (specs.py), and the event "restored" says so.

    What the disk does not take has not been done: the call raises SandboxFailure("disk"), its page is lost, and the
    next call finds one that has gone the way that is kept.
    """

    kind = "browser"

    def __init__(
        self, id: str, lease: Lease, journal: Journal, open_page: OpenPage,
        *, began: Callable[[PageSession, Journal], None], released: Callable[[PageSession], Awaitable[None]],
    ) -> None:  # fmt: skip
        super().__init__(id, lease)
        self.journal = journal
        self.recording: PageRecording | None = None
        self.downloads: Downloads | None = None  # None: nothing is kept
        self.recoveries = 0
        self.last: PageObservation | None = None
        self._open_page, self._began, self._released = open_page, began, released
        self._page: Page | None = None
        self._turn = asyncio.Lock()
        self._opened = bool(journal.entries or journal.before)  # a page has been there before
        self._answers: dict[
            str, tuple[Call, Any]
        ] = {}  # of the last calls with an idempotency key: a value or a PageError
        self._ended = False

    # ---- the page's interface ----

    async def start(self, expression: str, *, seed: int, read: str | None = None) -> PageObservation:
        """Starts as Page.start does; after many calls on a fresh page that keeps address and storage, so that replays
        stay short."""
        return await self.call(Start(expression, seed, read))

    async def act(
        self, events: Sequence[InputEvent], *, advance_ms: float, read: str | None = None, rate: float = math.inf
    ) -> PageObservation:
        """Like `Page.act`."""
        return await self.call(Act(tuple(events), advance_ms, read, rate))

    async def evaluate(self, expression: str) -> Any:
        """Like `Page.evaluate`."""
        return await self.call(Evaluate(expression))

    async def close(self) -> None:
        """Gives the session up."""
        await self._released(self)

    @property
    def failure(self) -> SandboxFailure | None:
        """None: what failed below is mended by the next call."""
        return None

    async def call(self, call: Call, *, idempotency_key: str | None = None, person: bool = False) -> Any:
        """Carries out a call: an Observation, or the value of an evaluation.

        A call that comes again with the same idempotency key is not carried out again: it gets the answer that did not
        reach its caller, also over a restart. Raises SessionEnded after the end, InputError before anything is
        delivered for what a journal could not read back or for the word of another call, otherwise as Page.
        """
        call = checked(call)
        # Whoever goes the journal's way again need not take its time.
        entered = dataclasses.replace(call, rate=math.inf) if isinstance(call, Act) else call
        with self.in_use():
            if person:
                self.hold()
            else:
                await self._given_back.wait()
            async with self._turn:
                if self._ended:
                    raise SessionEnded(self.id)
                if idempotency_key is not None and (come := self._call_of(idempotency_key)) is not None:
                    if come != entered:
                        raise InputError("idempotency_key must be one of this call alone; got that of another")
                    return await self._answer_to(idempotency_key)
                return await self._carried_out(call, entered, idempotency_key)

    def _call_of(self, idempotency_key: str) -> Call | None:
        """The call that has come with this word, among the last ones."""
        if idempotency_key in self._answers:
            return self._answers[idempotency_key][0]
        return next((entry.call for entry in self._last_entries() if entry.idempotency_key == idempotency_key), None)

    async def _answer_to(self, idempotency_key: str) -> Any:
        page = await self._living_page()  # after a restart it is the replay that gives the answers
        if idempotency_key not in self._answers and self.journal.last is not None:  # of a page that was restored
            self._answers[idempotency_key] = self.journal.last.call, await _shown_after(self.journal.last, page)
        _, answer = self._answers[idempotency_key]
        if isinstance(answer, PageError):
            raise answer
        return answer

    async def _carried_out(self, call: Call, entered: Call, idempotency_key: str | None) -> Any:
        if self.journal.spec.network:  # what a live host has been told cannot be taken back
            with stored("the call has not been carried out"):
                self.journal.require_room()
        journal = self.journal

        async def work(page: Page) -> Any:
            nonlocal journal
            journal = self.journal
            if isinstance(call, Start) and len(journal.entries) >= LONG_WAY:
                journal, page = await self._fresh_page(page)
            return await call.on(page)

        try:
            value = await self._healed(work)
        except PageError as error:
            await self._enter(journal, JournalEntry(entered, ERROR, idempotency_key), error)
            raise
        await self._enter(journal, JournalEntry(entered, result_of(value), idempotency_key), value)
        return value

    async def _healed(self, work: Callable[[Page], Awaitable[T]]) -> T:
        """The result of `work` on the page, or on the page that takes its place."""
        for attempt in range(RECOVERIES + 1):
            try:
                return await work(await self._living_page())
            except PageError:
                raise
            except SandboxFailure as failure:
                await self.lose(failure.kind, str(failure))
                if failure.kind in ("timeout", "diverged") or attempt == RECOVERIES:
                    raise
            except BaseException as error:  # the page may have taken the call or not
                if self._ended:
                    raise SessionEnded(self.id) from error
                await self.lose("abandoned", repr(error))
                raise
        raise AssertionError("the last attempt returned or raised")

    async def _enter(self, journal: Journal, entry: JournalEntry, value: Any) -> None:
        """Keeps a call that came back, in the session's journal or as the first one of another `journal`.

        Raises SandboxFailure("disk") where that cannot be, and drops the page: the next one has not seen the call.
        """
        try:
            if journal.spec.network:
                journal = Journal(journal.spec, self.calls + 1, last=entry)
                try:
                    journal.spec = await self._spec_at_place()
                finally:  # without news of the place, it leads to the one before
                    self._keep(journal, entry, value)
            else:
                self._keep(journal, entry, value)
        except SandboxFailure as failure:
            await self.lose(failure.kind, str(failure))
            raise

    def _keep(self, journal: Journal, entry: JournalEntry, value: Any) -> None:
        with stored("the call does not count"):
            if self.recording is not None:
                self.recording.append(entry, value)
            try:
                if journal is self.journal:
                    journal.append(entry)
                else:
                    if not journal.spec.network:
                        journal.entries.append(entry)
                    self._began(self, journal)
                    self.journal = journal
            except OSError:
                if self.recording is not None:
                    self.recording.take_back()
                raise
        self._remember(entry, value)

    async def _spec_at_place(self) -> PageSpec:
        """The spec of a page at this one's location; where the page does not tell it, at its last known location."""
        try:
            if self._page is not None:
                return spec_at(self.journal.spec, await location_of(self._page), clock=True)
        except (PageError, SandboxFailure):
            pass  # the next call meets it
        except RuntimeError:
            if not self._ended:
                raise
        return self.journal.spec

    def _last_entries(self) -> list[JournalEntry]:
        last = [] if self.journal.last is None else [self.journal.last]
        return [*last, *self.journal.entries[-REMEMBERED:]]

    def _remember(self, entry: JournalEntry, value: Any) -> None:
        if isinstance(value, PageObservation):
            self.last = value
        if entry.idempotency_key is not None:
            self._answers[entry.idempotency_key] = entry.call, value
            while len(self._answers) > REMEMBERED:
                del self._answers[next(iter(self._answers))]

    async def _fresh_page(self, page: Page) -> tuple[Journal, Page]:
        """A page that begins with the address and the storage of `page`, in its place, and a journal for its calls."""
        journal = Journal(spec_at(self.journal.spec, await location_of(page), clock=False), self.calls)
        self._page = None
        await page.close()
        return journal, await self._take(await self._open_page(journal.spec, self.events.append))

    async def _take(self, page: Page) -> Page:
        """The session's page from now on, unless the session ended while it was opened."""
        if self._ended:
            await page.close()
            raise SessionEnded(self.id)
        self._page = page
        return page

    # ---- the page below ----

    @property
    def calls(self) -> int:
        """Number of calls that have come back since the session began."""
        return self.journal.calls

    async def _living_page(self) -> Page:
        """The page as it is, or a new one that has gone the same way."""
        if self._page is not None and self._page.failure is None:
            return self._page
        if self._page is not None and (failure := self._page.failure) is not None:
            await self.lose(failure.kind, str(failure))
        page = await self._take(
            await replay(self.journal, lambda spec: self._open_page(spec, self.events.append), heard=self._remember)
        )
        if self._opened:
            self.recoveries += 1
            spec = self.journal.spec
            if spec.network and not self.journal.entries:
                self.events.append("restored", {"calls": self.calls, "url": spec.at or spec.site.url})
            else:
                self.events.append("recovered", {"calls": self.calls})
        self._opened = True
        return page

    async def bring_up(self) -> None:
        """Opens the page now rather than with the next call."""
        with self.in_use():
            async with self._turn:
                if not self._ended:
                    await self._living_page()

    async def lose(self, kind: str, text: str) -> None:
        """Gives up the page, if there is one: the next call brings another to where it was."""
        page, self._page = self._page, None
        self.events.append("failure", {"kind": kind, "text": text})
        if page is not None:
            await page.close()

    async def checkpoint(self) -> dict[str, Any]:
        """Checkpoint of the page: address, title, clock, storage, number of calls, and the journal that led there."""

        async with self._turn:
            place = await self._healed(location_of)
            return {**vars(place), "calls": self.calls, "journal": self.journal.copy()}

    async def page(self) -> Page:
        """The page below, for debugging. What is done to it beside the session's calls is not in the journal."""
        async with self._turn:
            return await self._living_page()

    async def end(self) -> None:
        """Ends the page; calls that wait raise SessionEnded. Idempotent."""
        self._ended = True
        self._given_back.set()
        page, self._page = self._page, None
        if page is not None:
            await page.close()
        self.events.close()

    def to_json(self) -> dict[str, Any]:
        """Description of the session, for lists."""
        entries = self._last_entries()
        call = entries[-1].call if entries else None
        spec = self.journal.spec
        return {
            **self.lease_to_json(), "index": spec.site.index, "width": spec.width, "height": spec.height,
            "network": list(spec.network), "calls": self.calls, "recoveries": self.recoveries,
            "live": self._page is not None, "recording": self.recording is not None,
            "downloads": len(self.downloads.kept) if self.downloads is not None else 0,
            "last_call": None if call is None else brief(call_to_json(call)),
            "data": None if self.last is None else brief(self.last.data),
        }  # fmt: skip


async def _shown_after(last: JournalEntry, page: Page) -> Any:
    """In place of an answer that went down with its page: what the page shows that was restored since."""
    if last.result == ERROR:
        return PageError("the page's script raised; its words were lost with the page")
    if isinstance(last.call, Evaluate):
        raise SandboxFailure("restored", "the value of this evaluation was lost with its page")
    return await page.act([], advance_ms=0, read=last.call.read)
