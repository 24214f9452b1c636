"""Several headless browsers with several isolated pages each, healed when a part of them dies.

Order of life: SandboxRun (token, folder, reaper) > the Playwright driver > browsers > contexts with one page each. A
dead part takes its pages along as SandboxFailure; the next open_page brings the part up again, once, under its lock.
A watch asks each browser for a sign of life, weighs it, and lets further browsers go when they are idle (elastic.py).
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import time
from collections.abc import Sequence
from functools import partial
from types import TracebackType

from playwright.async_api import BrowserContext
from playwright.async_api import Error as PlaywrightError

from tars_jax import InputError
from tars_jax.sandbox.browser.config import BrowserConfig, find_executable
from tars_jax.sandbox.browser.downloads import Downloader, Downloads
from tars_jax.sandbox.browser.driver import Driver, start_driver
from tars_jax.sandbox.browser.elastic import (
    Load,
    browser_memory_mb,
    free_memory_mb,
    is_surplus,
    is_too_large,
    place_for_page,
)
from tars_jax.sandbox.browser.failures import SandboxFailure
from tars_jax.sandbox.browser.isolation import new_context, new_tab, show
from tars_jax.sandbox.browser.launch import FramesRefused, Kind, Launched, kind_for, last_words, launch
from tars_jax.sandbox.browser.network import Gate, Hosts
from tars_jax.sandbox.browser.page import Page
from tars_jax.sandbox.browser.page_events import Report
from tars_jax.sandbox.browser.processes import SandboxRun
from tars_jax.sandbox.browser.site import PageSpec, Site

OPEN_ATTEMPTS = 3
LONGEST_CLOSE_S = 5.0


@dataclasses.dataclass
class ManagerStats:
    """Counts since the manager started."""

    driver_starts: int = 0
    launches: int = 0  # of browsers
    browsers: int = 0  # running now
    retired: int = 0  # browsers ended because they were idle or had grown too large
    pages_opened: int = 0
    pages_open: int = 0
    failures: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)  # pages lost, by kind
    given_up: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)  # screenshot paths

    def to_json(self) -> dict[str, int | dict[str, int]]:
        """Plain numbers and dictionaries; `dataclasses.asdict` makes Counters of pairs out of Counters."""
        return {name: dict(value) if isinstance(value, dict) else value for name, value in vars(self).items()}


class _Slot:
    """The place of one browser, whichever process fills it at the moment."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.launched: Launched | None = None
        self.pages: set[Page] = set()
        self.places_taken = 0  # pages, and pages being opened
        self.memory_mb = 0.0  # when last looked at
        self.idle_since = time.monotonic()
        self.alone = False  # its page wants frames on request, and so a browser to itself

    @property
    def load(self) -> Load:
        idle_s = 0.0 if self.places_taken else time.monotonic() - self.idle_since
        decided = self.places_taken or (self.launched is not None and self.launched.asked_for)
        return Load(self.places_taken, self.memory_mb, idle_s, self.alone if decided else None)


class BrowserManager:
    """An async context manager over `config.browsers` browsers. Raises InputError when there is no Chromium."""

    def __init__(self, config: BrowserConfig | None = None) -> None:
        self.config = config or BrowserConfig()
        self.stats = ManagerStats()
        self._executable = find_executable(self.config.executable)
        self._close_timeout_s = min(LONGEST_CLOSE_S, self.config.call_timeout_s)
        self._slots = [_Slot() for _ in range(self.config.browsers)]
        self._driver: Driver | None = None
        self._driver_lock = asyncio.Lock()
        self._place_freed = asyncio.Condition()
        self._run: SandboxRun | None = None
        self._watching: asyncio.Task[None] | None = None
        self._gives_frames: bool | None = None  # whether this Chromium makes frames on request; None: not tried yet

    @property
    def run(self) -> SandboxRun | None:
        """The processes and files of the running manager; None before start and after close."""
        return self._run

    async def __aenter__(self) -> BrowserManager:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def start(self) -> None:
        """Starts the driver and a first browser, of the kind that games want; the others start when pages need them."""
        self._run = SandboxRun()
        try:
            await self._living_browser(self._slots[0], self._kind(single_canvas=True))
        except SandboxFailure as failure:
            await self.close()
            raise InputError(f"{self._executable} does not run as a Chromium: {failure}") from failure
        except BaseException:
            await self.close()
            raise
        self._watching = asyncio.create_task(self._watch())

    async def close(self) -> None:
        """Closes everything; no process and no file of the manager is left when it returns. Idempotent."""
        run, self._run = self._run, None
        if run is None:
            return
        if self._watching is not None:
            self._watching.cancel()
        for slot in self._slots:
            for page in slot.pages:
                page.abandon()
        async with self._place_freed:
            self._place_freed.notify_all()
        driver, self._driver = self._driver, None
        try:
            if driver is not None:
                await driver.stop(self._close_timeout_s)
        finally:
            await asyncio.to_thread(run.finish)

    async def open_page(
        self, site: Site, *, single_canvas: bool = False, size: tuple[int, int] | None = None,
        network: Sequence[str] = (),
    ) -> Page:  # fmt: skip
        """An isolated page that shows `site`, on the browser with the fewest pages; waits while all are full.

        Args:
          site: the files that the page may read.
          single_canvas: the page promises one opaque canvas over the whole viewport, so it may be read back.
          size: (width, height) of the viewport in CSS pixels; None takes the configured one.
          network: the hosts that the page may reach beside its site (see network.py); none unless said.

        Raises InputError when the site has no index or a host is none, SandboxFailure when no browser comes up.
        """
        width, height = size or (self.config.width, self.config.height)
        return await self.open(PageSpec(site, width, height, single_canvas, tuple(network)))

    async def open(self, spec: PageSpec, report: Report | None = None, *, downloads: Downloads | None = None) -> Page:
        """As `open_page`, with all that a page can be told. `report` hears what happens on it, from its first load on.

        What it downloads is refused, or kept in `downloads`; `report` hears of that. It begins with the cookies and
        the storage of `spec`.
        """
        Hosts(spec.network)  # an entry that is none is the caller's mistake, told before a browser starts
        if spec.site.find(spec.site.url) is None:
            raise InputError(f"site {spec.site.root} has no file {spec.site.index!r}")
        slot = await self._free_place(alone=self._kind(spec.single_canvas) is Kind.REQUESTED)
        try:
            page = await self._open_in(slot, spec, report, downloads)
        except BaseException:
            await self._free(slot)
            raise
        self.stats.pages_opened += 1
        self.stats.pages_open += 1
        return page

    async def _free_place(self, *, alone: bool) -> _Slot:
        async with self._place_freed:
            while True:
                self._running()
                loads = [slot.load for slot in self._slots]
                index = place_for_page(loads, self.config, free_memory_mb(), alone=alone)
                if index is not None:
                    if index == len(self._slots):
                        self._slots.append(_Slot())
                    slot = self._slots[index]
                    slot.places_taken += 1
                    slot.alone = alone
                    return slot
                await self._place_freed.wait()

    async def _free(self, slot: _Slot) -> None:
        async with self._place_freed:
            slot.places_taken -= 1
            slot.idle_since = time.monotonic()
            self._place_freed.notify()

    async def _open_in(self, slot: _Slot, spec: PageSpec, report: Report | None, downloads: Downloads | None) -> Page:
        problem = ""
        for _ in range(OPEN_ATTEMPTS):
            launched = await self._living_browser(slot, self._kind(spec.single_canvas))
            launched.asked_for = True
            try:
                opening = self._new_page(launched, slot, spec, report, downloads)
                return await asyncio.wait_for(opening, self.config.call_timeout_s)
            except TimeoutError as error:
                if await self._answers(slot, launched):
                    raise SandboxFailure("timeout", f"no load within {self.config.call_timeout_s:g} s") from error
                self._browser_ended(slot, launched, "browser")
                problem = "no answer"
            except (PlaywrightError, ConnectionError) as error:
                problem = str(error)
        raise SandboxFailure("browser", f"no page could be opened: {problem}")

    async def _new_page(
        self, launched: Launched, slot: _Slot, spec: PageSpec, report: Report | None, downloads: Downloads | None
    ) -> Page:
        gate = Gate(Hosts(spec.network)) if spec.network else None
        context: BrowserContext | None = None
        page: Page | None = None
        downloader = Downloader(downloads, spec.site, report) if downloads and report else None
        try:
            context = await new_context(launched, spec, await gate.open() if gate else None, report)
            tab = await new_tab(launched, context, report, downloader)
            page = Page(
                tab, self.config, spec, released=partial(self._release, slot),
                given_up=lambda path: self.stats.given_up.update([path]), failed=self._count_failure,
            )  # fmt: skip
            if gate is not None:
                page.when_over(gate.close)
            if downloader is not None:
                page.when_over(downloader.end)
            if slot.launched is not launched:
                raise ConnectionError("the browser ended meanwhile")
            slot.pages.add(page)
            with page.moving():
                await show(tab, spec, self.config.call_timeout_s / 2)
        except BaseException:
            if page is not None:
                page.abandon()
                slot.pages.discard(page)
            elif gate is not None:
                gate.close()
            if context is not None:
                with contextlib.suppress(Exception):
                    await asyncio.wait_for(context.close(), self._close_timeout_s)
            raise
        return page

    async def _release(self, slot: _Slot, page: Page) -> None:
        """Closes the page's context; a browser that cannot do even that, and does not answer either, is ended."""
        launched = slot.launched
        slot.pages.discard(page)
        try:
            if launched is not None and page.context.browser is launched.browser and self._run is not None:
                try:
                    await asyncio.wait_for(page.context.close(), self._close_timeout_s)
                except TimeoutError:  # of a browser that answers it is the machine that is slow
                    await self._look_at(slot)
                except (PlaywrightError, ConnectionError):
                    pass  # it died meanwhile, which is news that arrives by itself
                if slot.alone and page.failure and page.failure.kind == "timeout" and slot.launched is launched:
                    self._browser_ended(slot, launched, "browser")  # what hung may be more than the page
        finally:
            self.stats.pages_open -= 1
            await self._free(slot)

    # ---- bringing parts up ----

    def _kind(self, single_canvas: bool) -> Kind:
        return kind_for(self.config.screenshot, single_canvas=single_canvas, gives_frames=self._gives_frames)

    async def _living_browser(self, slot: _Slot, kind: Kind) -> Launched:
        """The browser of a place; one of another kind that no page has asked for yet is replaced."""
        async with slot.lock:
            if slot.launched and not slot.launched.asked_for and slot.launched.kind is not kind:
                self._browser_ended(slot, slot.launched, "browser")
            for attempt in range(OPEN_ATTEMPTS):
                if slot.launched is not None:
                    return slot.launched
                driver = await self._living_driver()
                try:
                    return await self._launch(slot, driver, kind)
                except FramesRefused:
                    self._gives_frames, kind = False, Kind.STEADY
                except (PlaywrightError, ConnectionError, TimeoutError) as error:
                    problem = last_words(error)
                    if (attempt > 0 or isinstance(error, TimeoutError)) and not await self._serves_others(driver):
                        self._driver_lost(driver)
            raise SandboxFailure("browser", problem)

    async def _serves_others(self, driver: Driver) -> bool:
        """Whether browsers live by this driver and it answers: then it is the machine that is slow to launch one."""
        if not any(slot.launched for slot in self._slots):
            return False
        return await driver.answers(self.config.call_timeout_s) and self._driver is driver

    async def _launch(self, slot: _Slot, driver: Driver, kind: Kind) -> Launched:
        self.stats.launches += 1
        number = self.stats.launches
        untried = self._gives_frames is None
        launching = launch(driver.playwright, self._executable, self._running(), number, kind, untried=untried)
        launched = await asyncio.wait_for(launching, self.config.call_timeout_s)
        slot.launched = launched
        slot.alone = kind is Kind.REQUESTED
        self._gives_frames = slot.alone or self._gives_frames
        self.stats.browsers += 1
        launched.browser.on("disconnected", lambda _: self._browser_lost(slot, launched))
        return launched

    async def _living_driver(self) -> Driver:
        async with self._driver_lock:
            if self._driver is None:
                self.stats.driver_starts += 1
                self._driver = await start_driver(self._running(), self._driver_lost)
            return self._driver

    def _running(self) -> SandboxRun:
        if self._run is None:
            raise RuntimeError("the browser manager is not running")
        return self._run

    # ---- health and size ----

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self.config.health_s)
            await asyncio.gather(*(self._look_at(slot) for slot in list(self._slots)))
            async with self._place_freed:
                for slot in list(self._slots):
                    self._retire(slot)
                self._place_freed.notify_all()  # the machine may have memory for a further browser now

    async def _look_at(self, slot: _Slot) -> None:
        """Ends a browser that does not answer, and weighs one that does."""
        if (launched := slot.launched) is None:
            return
        try:
            await asyncio.wait_for(launched.connection.send("Browser.getVersion"), self.config.call_timeout_s)
        except (ConnectionError, TimeoutError):
            self._browser_ended(slot, launched, "browser")
        else:
            memory_mb = await asyncio.to_thread(browser_memory_mb, launched.token)
            if slot.launched is launched:
                slot.memory_mb = memory_mb

    async def _answers(self, slot: _Slot, launched: Launched) -> bool:
        """Whether a browser and the driver answer: then it is a page that does not."""
        await self._look_at(slot)
        driver = self._driver
        return slot.launched is launched and driver is not None and await driver.answers(self.config.call_timeout_s)

    def _retire(self, slot: _Slot) -> None:
        surplus = is_surplus(slot.load, len(self._slots), self.config)
        if surplus:
            self._slots.remove(slot)
        if (surplus or is_too_large(slot.load, self.config)) and not slot.places_taken and slot.launched is not None:
            self.stats.retired += 1
            self._browser_ended(slot, slot.launched, "browser")

    # ---- news of deaths ----

    def _count_failure(self, kind: str) -> None:
        self.stats.failures[kind] += 1

    def _browser_lost(self, slot: _Slot, launched: Launched) -> None:
        if self._driver is not None and not self._driver.is_alive:
            self._driver_lost(self._driver)
        else:
            self._browser_ended(slot, launched, "browser")

    def _driver_lost(self, driver: Driver) -> None:
        if self._driver is not driver:
            return
        self._driver = None
        for slot in self._slots:
            if slot.launched is not None:
                self._browser_ended(slot, slot.launched, "driver")
        driver.kill()

    def _browser_ended(self, slot: _Slot, launched: Launched, kind: str) -> None:
        """Forgets a browser that is gone or no longer answers, and ends what is left of it."""
        if slot.launched is not launched:
            return
        slot.launched = None
        slot.memory_mb = 0.0
        self.stats.browsers -= 1
        launched.connection.close()
        for page in slot.pages:
            page.fail(kind, "it ended")
        if self._run is not None:
            self._run.kill(launched.token)
