"""The browsers of a manager, and the driver by which they are launched.

A part is brought up when it is needed, once, under its lock; what dies or no longer answers takes its pages along as
SandboxFailure, and is forgotten with all that is left of it.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import time
from collections.abc import AsyncIterator

from playwright.async_api import Error as PlaywrightError

from tars_jax.sandbox.browser.autoscaling import Load, browser_memory_mb
from tars_jax.sandbox.browser.config import BrowserConfig, find_executable
from tars_jax.sandbox.browser.driver import Driver, start_driver
from tars_jax.sandbox.browser.health import answers, why_no_page
from tars_jax.sandbox.browser.launch import (
    BrowserKind,
    FrameMode,
    FramesRefused,
    Launched,
    kind_for,
    launch,
    launch_failure,
)
from tars_jax.sandbox.browser.page import Page
from tars_jax.sandbox.browser.processes import SandboxRun
from tars_jax.sandbox.failures import SandboxFailure

ATTEMPTS = 3
DOUBT = 0.1  # of a call's time, in which most pages open: there is enough left to start another driver
PROBE_CALLS = 3  # calls' time that a browser has to show a page: a slow machine must not end it, and all of its pages


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


class BrowserPlace:
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


class Browsers:
    """Browsers of one run. Raises InputError when there is no Chromium."""

    def __init__(self, config: BrowserConfig, stats: ManagerStats, gives_frames: bool | None = None) -> None:
        self.executable = find_executable(config.executable)
        self.places = [BrowserPlace() for _ in range(config.browsers)]
        self.driver: Driver | None = None  # None: not started yet, or lost
        self.run: SandboxRun | None = None  # None: before the start of the manager, and after its end
        self._config, self._stats, self._gives_frames = config, stats, gives_frames
        self._driver_lock = asyncio.Lock()

    def kind(self, single_canvas: bool, smil: bool) -> BrowserKind:
        gives_frames = self._gives_frames
        return kind_for(self._config.screenshot, single_canvas=single_canvas, smil=smil, gives_frames=gives_frames)

    async def get_or_launch(self, place: BrowserPlace, kind: BrowserKind) -> Launched:
        """The browser of a place; one of another kind is replaced if no page has asked for it or had it alone."""
        async with place.lock:
            old = place.launched
            if old and old.kind != kind and (old.kind.alone or not old.asked_for):
                self.end(place, old, "browser")
            for attempt in range(ATTEMPTS):
                if place.launched is not None:
                    return place.launched
                try:
                    driver = await self._living_driver()
                    async with self.driver_watched():
                        return await self._launch(place, driver, kind)
                except FramesRefused:
                    self._gives_frames, kind = False, BrowserKind(FrameMode.STEADY, kind.smil)
                except SandboxFailure as failure:
                    problem = failure
                except (PlaywrightError, ConnectionError, TimeoutError) as error:
                    reason = launch_failure(error)
                    problem = SandboxFailure("browser", reason or (str(error).splitlines() or ["no answer"])[0])
                    if not reason:
                        await self._doubt_driver(soon=attempt > 0 or isinstance(error, TimeoutError))
            raise problem

    async def _doubt_driver(self, *, soon: bool) -> None:
        """Ends a driver by which a browser could not be launched and that is dead, or `soon` one that may be the cause.

        While browsers live by it and it answers, it is the machine that is slow.
        """
        if (driver := self.driver) is None or (driver.is_alive and not soon):
            return
        if not any(place.launched for place in self.places) or not await driver.answers(self._config.call_timeout_s):
            self._driver_lost(driver)

    @contextlib.asynccontextmanager
    async def driver_watched(self) -> AsyncIterator[None]:
        """While it is open for more than a moment, a driver that is stuck is ended: nothing would come from it."""

        async def doubt() -> None:
            await asyncio.sleep(DOUBT * self._config.call_timeout_s)
            driver = self.driver
            if driver is not None and await driver.is_stuck(DOUBT * self._config.call_timeout_s):
                self._driver_lost(driver)

        doubting = asyncio.ensure_future(doubt())
        try:
            yield
        finally:
            doubting.cancel()

    async def _launch(self, place: BrowserPlace, driver: Driver, kind: BrowserKind) -> Launched:
        self._stats.launches += 1
        number = self._stats.launches
        untried = self._gives_frames is None
        launching = launch(
            driver.playwright, self.executable, self.running(), number, kind,
            use_angle=self._config.use_angle, untried=untried,
        )  # fmt: skip
        launched = await asyncio.wait_for(launching, self._config.call_timeout_s)
        place.launched = launched
        place.alone = kind.alone
        self._gives_frames = kind.frames is FrameMode.REQUESTED or self._gives_frames
        self._stats.browsers += 1
        launched.browser.on("disconnected", lambda _: self._browser_lost(place, launched))
        return launched

    async def _living_driver(self) -> Driver:
        async with self._driver_lock:
            if self.driver is None:
                self._stats.driver_starts += 1
                self.driver = await start_driver(self.running(), self._driver_lost)
            return self.driver

    def running(self) -> SandboxRun:
        if self.run is None:
            raise RuntimeError("the browser manager is not running")
        return self.run

    # ---- health ----

    async def look_at(self, place: BrowserPlace) -> None:
        """Ends a browser that does not answer, and weighs one that does."""
        if (launched := place.launched) is None:
            return
        if not await answers(launched, self._config.call_timeout_s):
            self.end(place, launched, "browser")
            return
        memory_mb = await asyncio.to_thread(browser_memory_mb, launched.token)
        if place.launched is launched:
            place.memory_mb = memory_mb

    async def still_works(self, place: BrowserPlace, launched: Launched) -> bool:
        """Whether a browser shows pages: then it was one page that did not. Ends it otherwise."""
        timeout_s = PROBE_CALLS * self._config.call_timeout_s
        if place.launched is launched and (reason := await why_no_page(launched, timeout_s)):
            self.end(place, launched, "browser", reason)
        return place.launched is launched

    # ---- news of deaths ----

    def _browser_lost(self, place: BrowserPlace, launched: Launched) -> None:
        if self.driver is not None and not self.driver.is_alive:
            self._driver_lost(self.driver)
        else:
            self.end(place, launched, "browser")

    def _driver_lost(self, driver: Driver) -> None:
        if self.driver is not driver:
            return
        self.driver = None
        for place in self.places:
            if place.launched is not None:
                self.end(place, place.launched, "driver")
        driver.kill()

    def end(self, place: BrowserPlace, launched: Launched, kind: str, reason: str = "it ended") -> None:
        """Forgets a browser that is gone or no longer answers, and ends what is left of it; its pages say `reason`."""
        if place.launched is not launched:
            return
        place.launched = None
        place.memory_mb = 0.0
        self._stats.browsers -= 1
        launched.connection.close()
        for page in place.pages:
            page.fail(kind, reason)
        if self.run is not None:
            self.run.kill(launched.token)
