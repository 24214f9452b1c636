"""Several headless browsers with several isolated pages each, healed when a part of them dies.

Order of life: SandboxRun (token, folder, reaper) > the Playwright driver > browsers > contexts with one page each. A
dead part takes its pages along as SandboxFailure; the next open_page brings the part up again, once, under its lock.
A watch asks each browser for a sign of life, weighs it, and lets further browsers go when they are idle. Here pages get
their places; browsers.py brings up what they stand on, and autoscaling.py says how many browsers there should be.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from functools import partial
from types import TracebackType

from playwright.async_api import BrowserContext
from playwright.async_api import Error as PlaywrightError

from tars_jax import InputError
from tars_jax.sandbox.browser.autoscaling import (
    free_memory_mb,
    is_surplus,
    is_too_large,
    place_for_page,
)
from tars_jax.sandbox.browser.browsers import ATTEMPTS, BrowserPlace, Browsers, ManagerStats
from tars_jax.sandbox.browser.chromium_flags import is_sandboxed
from tars_jax.sandbox.browser.config import BrowserConfig
from tars_jax.sandbox.browser.connection import ProtocolError
from tars_jax.sandbox.browser.downloads import Downloader, Downloads
from tars_jax.sandbox.browser.drawings import has_smil
from tars_jax.sandbox.browser.isolation import alive, new_context, new_tab, show
from tars_jax.sandbox.browser.launch import Launched
from tars_jax.sandbox.browser.page import Page
from tars_jax.sandbox.browser.page_events import Report
from tars_jax.sandbox.browser.processes import SandboxRun
from tars_jax.sandbox.browser.site import PageSpec, Site
from tars_jax.sandbox.concurrency import run_every
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.web.network import Hosts, Loopback, Proxy

LONGEST_CLOSE_S = 5.0


class BrowserManager:
    """An async context manager over `config.browsers` browsers. Raises InputError when there is no Chromium."""

    def __init__(self, config: BrowserConfig | None = None, *, gives_frames: bool | None = None) -> None:
        """`gives_frames`: whether this Chromium makes frames on request; None: that is tried."""
        self.config = config or BrowserConfig()
        self.stats = ManagerStats()
        self.browsers = Browsers(self.config, self.stats, gives_frames)
        is_sandboxed()  # an impossible switch is told before a process starts
        self._close_timeout_s = min(LONGEST_CLOSE_S, self.config.call_timeout_s)
        self._place_freed = asyncio.Condition()
        self._watching: asyncio.Task[None] | None = None

    @property
    def run(self) -> SandboxRun | None:
        """The processes and files of the running manager; None before start and after close."""
        return self.browsers.run

    async def __aenter__(self) -> BrowserManager:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def start(self) -> None:
        """Starts the driver and a first browser, of the kind that games want; the others start when pages need them."""
        self.browsers.run = SandboxRun()
        try:
            await self.browsers.get_or_launch(
                self.browsers.places[0], self.browsers.kind(single_canvas=True, smil=False)
            )
        except SandboxFailure as failure:
            await self.close()
            if failure.kind == "driver":
                raise InputError(f"Playwright's driver does not run: {failure}") from failure
            raise InputError(f"{self.browsers.executable} does not run as a Chromium: {failure}") from failure
        except BaseException:
            await self.close()
            raise
        self._watching = asyncio.create_task(run_every(self.config.health_s, self._watch, "the watch of browsers"))

    async def close(self) -> None:
        """Closes everything; no process and no file of the manager is left when it returns. Idempotent."""
        run, self.browsers.run = self.browsers.run, None
        if run is None:
            return
        if self._watching is not None:
            self._watching.cancel()
        for place in self.browsers.places:
            for page in place.pages:
                page.abandon()
        async with self._place_freed:
            self._place_freed.notify_all()
        driver, self.browsers.driver = self.browsers.driver, None
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

    async def open(
        self, spec: PageSpec, report: Report | None = None, *, downloads: Downloads | None = None,
        loopback: Loopback | None = None,
    ) -> Page:  # fmt: skip
        """Like `open_page`, with all that a page can be told. `report` hears what happens on it, from its first load.

        What it downloads is refused, or kept in `downloads`; `report` hears of that. It begins with the cookies and
        the storage of `spec`. With `loopback` its localhost is another machine, and dialogs for files wait for
        `Page.choose_files`.
        """
        Hosts(spec.network)  # an entry that is none is the caller's mistake, told before a browser starts
        if spec.site.find(spec.site.url) is None:
            raise InputError(f"site.index must be a file of {spec.site.root}; got {spec.site.index!r}")
        smil = await asyncio.to_thread(has_smil, spec.site)
        place = await self._free_place(alone=self.browsers.kind(spec.single_canvas, smil).alone)
        try:
            page = await self._open_in(place, spec, smil, report, downloads, loopback)
        except BaseException:
            await self._free(place)
            raise
        self.stats.pages_opened += 1
        self.stats.pages_open += 1
        return page

    async def _free_place(self, *, alone: bool) -> BrowserPlace:
        async with self._place_freed:
            while True:
                self.browsers.running()
                loads = [place.load for place in self.browsers.places]
                index = place_for_page(loads, self.config, free_memory_mb(), alone=alone)
                if index is not None:
                    if index == len(self.browsers.places):
                        self.browsers.places.append(BrowserPlace())
                    place = self.browsers.places[index]
                    place.places_taken += 1
                    place.alone = alone
                    return place
                await self._place_freed.wait()

    async def _free(self, place: BrowserPlace) -> None:
        async with self._place_freed:
            place.places_taken -= 1
            place.idle_since = time.monotonic()
            self._place_freed.notify()

    async def _open_in(
        self, place: BrowserPlace, spec: PageSpec, smil: bool, report: Report | None, downloads: Downloads | None,
        loopback: Loopback | None,
    ) -> Page:  # fmt: skip
        problem = ""
        for _ in range(ATTEMPTS):
            launched = await self.browsers.get_or_launch(place, self.browsers.kind(spec.single_canvas, smil))
            launched.asked_for = True
            try:
                opening = self._new_page(launched, place, spec, report, downloads, loopback)
                async with self.browsers.driver_watched():
                    return await asyncio.wait_for(opening, self.config.call_timeout_s)
            except TimeoutError as error:
                if await self.browsers.still_works(place, launched):
                    raise SandboxFailure("timeout", f"no load within {self.config.call_timeout_s:g} s") from error
                problem = "no answer"
            except (PlaywrightError, ConnectionError, ProtocolError) as error:
                problem = str(error)
        raise SandboxFailure("browser", f"no page could be opened: {problem}")

    async def _new_page(
        self, launched: Launched, place: BrowserPlace, spec: PageSpec, report: Report | None,
        downloads: Downloads | None, loopback: Loopback | None,
    ) -> Page:  # fmt: skip
        hosts = Hosts(spec.network, localhost=loopback is not None)
        proxy = Proxy(hosts, loopback, transparent=True) if spec.network or loopback else None
        context: BrowserContext | None = None
        page: Page | None = None
        downloader = Downloader(downloads, spec.site, report) if downloads and report else None
        try:
            context = await new_context(
                launched, spec, hosts, await proxy.open() if proxy else None, report, has_files=loopback is not None
            )
            tab = await new_tab(launched, context, report, downloader, accepts_dialogs=spec.accepts_dialogs)
            page = Page(
                tab, self.config, spec, networked=proxy is not None, released=partial(self._release, place),
                given_up=lambda path: self.stats.given_up.update([path]), failed=self._count_failure,
            )  # fmt: skip
            if proxy is not None:
                page.when_over(proxy.close)
            if downloader is not None:
                page.when_over(downloader.end)
            if place.launched is not launched:
                raise ConnectionError("the browser ended meanwhile")
            place.pages.add(page)
            with page.moving():
                async with alive(tab.page):
                    await show(tab, spec, self.config.call_timeout_s / 2)
            if place.alone:
                await self._wake(page, place, launched)
        except BaseException:
            if page is not None:
                page.abandon()
                place.pages.discard(page)
            elif proxy is not None:
                proxy.close()
            if context is not None:
                with contextlib.suppress(Exception):
                    await asyncio.wait_for(context.close(), self._close_timeout_s)
            raise
        return page

    async def _wake(self, page: Page, place: BrowserPlace, launched: Launched) -> None:
        """Chromium may open a page that it never shows, seen once in some thousand pages: another browser will."""
        try:
            await page.wake()
        except ProtocolError:
            self.browsers.end(place, launched, "browser")
            raise

    async def _release(self, place: BrowserPlace, page: Page) -> None:
        """Closes the page's context; a browser that cannot do even that, and does not answer either, is ended."""
        launched = place.launched
        place.pages.discard(page)
        try:
            if launched is not None and page.context.browser is launched.browser and self.run is not None:
                try:
                    await asyncio.wait_for(page.context.close(), self._close_timeout_s)
                except TimeoutError:  # of a browser that answers it is the machine that is slow
                    await self.browsers.look_at(place)
                except (PlaywrightError, ConnectionError):
                    pass  # it died meanwhile, which is news that arrives by itself
                if page.failure and page.failure.kind in ("timeout", "renderer"):  # it may be more than the page
                    if place.alone:
                        self.browsers.end(place, launched, "browser")
                    else:
                        await self.browsers.still_works(place, launched)
        finally:
            self.stats.pages_open -= 1
            await self._free(place)

    # ---- health and size ----

    async def _watch(self) -> None:
        await asyncio.gather(*(self.browsers.look_at(place) for place in list(self.browsers.places)))
        async with self._place_freed:
            for place in list(self.browsers.places):
                self._retire(place)
            self._place_freed.notify_all()  # the machine may have memory for a further browser now

    def _retire(self, place: BrowserPlace) -> None:
        surplus = is_surplus(place.load, len(self.browsers.places), self.config)
        if surplus:
            self.browsers.places.remove(place)
        if (surplus or is_too_large(place.load, self.config)) and not place.places_taken and place.launched is not None:
            self.stats.retired += 1
            self.browsers.end(place, place.launched, "browser")

    def _count_failure(self, kind: str) -> None:
        self.stats.failures[kind] += 1


class OnDemandBrowsers:
    """Browsers that are started when a page is first asked for; open until `close`."""

    def __init__(self, config: BrowserConfig) -> None:
        self._config = config
        self._starting = asyncio.Lock()
        self._manager: BrowserManager | None = None

    async def started(self) -> BrowserManager:
        """Starts the browsers unless they run. Raises InputError where there is no Chromium."""
        async with self._starting:
            if self._manager is None:
                manager = BrowserManager(self._config)
                await manager.start()
                self._manager = manager
            return self._manager

    async def close(self) -> None:
        """Closes the browsers; pages that are asked for afterwards start others."""
        async with self._starting:
            manager, self._manager = self._manager, None
            if manager is not None:
                await manager.close()
