"""One isolated page: input in, virtual time forward, a screenshot and a value out."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import math
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Request

from tars_jax import InputError
from tars_jax.sandbox.browser.clock import begin_expression, observe_expression, wishing_expression
from tars_jax.sandbox.browser.config import BrowserConfig
from tars_jax.sandbox.browser.connection import ProtocolError
from tars_jax.sandbox.browser.events import (
    Command,
    InputDevices,
    InputEvent,
    ends_in_motion,
    event_batches,
    real_seconds,
)
from tars_jax.sandbox.browser.frames import PATIENCE_S
from tars_jax.sandbox.browser.isolation import BrowserTab
from tars_jax.sandbox.browser.screenshots import PageObservation, Screenshotter, is_navigation, is_refusal
from tars_jax.sandbox.browser.site import PageSpec, Site
from tars_jax.sandbox.browser.storage import storage_of
from tars_jax.sandbox.failures import PageError, SandboxFailure

T = TypeVar("T")
INTERNAL_ERROR = "Internal error"  # a refusal, and what is said for a renderer that dies in the middle of a call
ABORTED = "net::ERR_ABORTED"  # of a load that becomes a download, or was stopped
LONGEST_LOAD_S = 8.0  # of what hosts of an open network send, real seconds, beside those that a call asks for
DIAGNOSIS_S = 1.0  # how long after an error the news of a death may arrive


class ActsOnPage(Protocol):
    """Page, Session and RemotePage have it; what the calls do and raise is written at Page."""

    async def start(self, expression: str, *, seed: int, read: str | None = None) -> PageObservation: ...

    async def act(
        self, events: Sequence[InputEvent], *, advance_ms: float, read: str | None = None, rate: float = math.inf
    ) -> PageObservation: ...

    async def evaluate(self, expression: str) -> Any: ...

    async def close(self) -> None: ...


class OpensPages(Protocol):
    """BrowserManager, Sessions and BrowserClient have it."""

    async def open_page(
        self, site: Site, *, single_canvas: bool = False, size: tuple[int, int] | None = None,
        network: Sequence[str] = (),
    ) -> ActsOnPage: ...  # fmt: skip


class Page:
    """A page of a BrowserManager. A call raises SandboxFailure when the infrastructure fails; the page is then dead."""

    def __init__(
        self, tab: BrowserTab, config: BrowserConfig, spec: PageSpec, *, networked: bool,
        given_up: Callable[[str], None], failed: Callable[[str], None],
        released: Callable[[Page], Awaitable[None]],
    ) -> None:  # fmt: skip
        self.context = tab.context
        self._frames = tab.frames
        self._page = tab.page
        self._session = tab.session
        self.target = tab.target  # the page's id in the debugging protocol
        self.connection = tab.connection
        self._networked = networked
        self._live = bool(spec.network)  # over hosts that answer when they like
        self._timeout_s = config.call_timeout_s
        self._failed = failed
        self._released = released
        self._devices = InputDevices()
        self._end: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
        self._closing: asyncio.Task[None] | None = None
        self._playing = contextlib.ExitStack()
        self._camera = Screenshotter(
            config.screenshot, single_canvas=spec.single_canvas, size=(spec.width, spec.height),
            frame=self._frames.screenshot if self._frames else None, capture=self.capture, plain=self._plain,
            given_up=given_up,
        )  # fmt: skip
        tab.page.on("crash", lambda _: self.fail("renderer", "it crashed"))
        tab.page.on("download", lambda download: self._stay(download.url, is_download=True))
        tab.page.on("requestfailed", self._frame_stays)
        self.when_over(self._playing.close)

    @property
    def failure(self) -> SandboxFailure | None:
        """The failure by which the page died; None while it lives, and when it was closed alive."""
        error = self._end.result() if self._end.done() else None
        return error if isinstance(error, SandboxFailure) else None

    @property
    def screenshot_path(self) -> str:
        """The path that the next screenshot comes by: canvas, frame, cdp or plain."""
        return self._camera.path

    async def wake(self) -> None:
        """Returns once the browser can show the page. Raises ProtocolError if it never does."""
        await self._camera.wake()

    async def start(self, expression: str, *, seed: int, read: str | None = None) -> PageObservation:
        """Sets the clock to 0 and chance to `seed`, evaluates `expression` (it may give a promise), then observes.

        Keys and buttons that are still held are let go before, and the mouse leaves the page.

        Raises PageError when the page's script raises, SandboxFailure when the infrastructure fails.
        """
        commands = self._devices.at_rest()
        self._camera.begin()
        return await self._guarded(
            self._step(commands, lambda canvas: begin_expression(seed, expression, canvas=canvas, read=read), read),
            "start",
        )

    async def act(
        self, events: Sequence[InputEvent], *, advance_ms: float, read: str | None = None, rate: float = math.inf
    ) -> PageObservation:
        """Delivers `events`, each acknowledged (`event_batches`), moves the clock by `advance_ms`, then observes.

        Time moves as fast as the page can, or by `rate` seconds a second; what the page shows after it is the same.

        Raises InputError for an event, a time or a rate that cannot be, and then nothing was delivered; otherwise as
        `start`.
        """
        asked_s, checked = real_seconds(advance_ms, rate), _checked_rate(rate)
        commands = self._devices.commands(events)
        return await self._guarded(
            self._step(
                commands, lambda canvas: observe_expression(advance_ms, canvas=canvas, read=read, rate=checked), read,
                asked_s,
            ),
            "act",
            asked_s=asked_s,
        )  # fmt: skip

    async def play(self, rate: float = 1.0) -> None:
        """Lets time run by `rate` seconds a second until `pause`, for a person who watches or plays."""
        await self._guarded(self._evaluate(f"void __clock.play({_checked_rate(rate)!r})"), "play")
        self._playing.close()
        if not self._end.done():
            self._playing.enter_context(self.moving())

    async def pause(self) -> None:
        """Time stands still again."""
        await self._guarded(self._evaluate("__clock.pause()"), "pause")
        self._playing.close()

    def moving(self) -> contextlib.AbstractContextManager[None]:
        """While it is open, frames come as on a display, for whoever works on the page past these calls."""
        return self._frames.running() if self._frames else contextlib.nullcontext()

    async def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression (or of its promise), as JSON."""
        with self.moving():
            return await self._guarded(self._evaluate(expression), "evaluate")

    async def navigate(self, url: str) -> None:
        """Opens an address. One that does not answer leaves the page on the browser's own words about that."""
        with self.moving():
            await self._guarded(self._session.send("Page.navigate", {"url": url}), "navigate")

    async def choose_files(self, files: Sequence[Path]) -> None:
        """Answers the page's dialog for files; no files cancel it. `__clock.controls.fileDialog()` says whether one is
        open: "file", "files" for several, or nothing.

        Raises InputError for more files than it takes, and where none is open.
        """
        kind = await self.evaluate("__clock.controls.fileDialog()")
        if not kind:
            raise InputError("a dialog for files must be open; got none")
        if len(files) > 1 and kind == "file":
            raise InputError(f"files of this dialog must be 1; got {len(files)}")
        await self._guarded(self._give_files(list(map(str, files))), "choose_files")

    async def _give_files(self, files: list[str]) -> None:
        field = {"expression": "__clock.timeline.surface.asking"}
        found = (await self._session.send("Runtime.evaluate", field))["result"]["objectId"]
        if files:
            await self._session.send("DOM.setFileInputFiles", {"files": files, "objectId": found})
        cancel = "" if files else "asking.dispatchEvent(new Event('cancel', { bubbles: true }));"
        over = f"const {{ asking }} = surface; surface.asking = null; {cancel}"
        await self._evaluate(f"(({{ surface }}) => {{ {over} }})(__clock.timeline)")

    def _frame_stays(self, request: Request) -> None:
        if request.failure == ABORTED and request.is_navigation_request():
            self._stay(request.url, is_download=False)

    def _stay(self, address: str, *, is_download: bool) -> None:
        """Called where a navigation shows no new document: time need not stand until there is one."""
        sent = asyncio.ensure_future(self._evaluate(f"__clock.stay({json.dumps(address)}, {json.dumps(is_download)})"))
        sent.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def storage(self) -> dict[str, Any]:
        """Storage of the page, as `PageSpec.storage` takes it (storage.py); no databases with an open network."""
        stored = storage_of(self.context, self._session, self.target, databases=not self._networked)
        return await self._guarded(stored, "storage")

    async def close(self) -> None:
        """Closes the page and frees its place. Idempotent, safe on a dead page."""
        self.abandon()
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._released(self))
        await asyncio.shield(self._closing)

    def when_over(self, told: Callable[[], None]) -> None:
        """`told` is called when the page has died or was closed."""
        self._end.add_done_callback(lambda _: told())

    def abandon(self) -> None:
        """Ends the page's use: calls in flight and later ones raise RuntimeError."""
        if not self._end.done():
            self._end.set_result(RuntimeError("the page is closed"))

    def fail(self, kind: str, message: str = "") -> None:
        """Marks the page dead, unless it is dead or closed: calls in flight and later ones raise the SandboxFailure."""
        if not self._end.done():
            self._end.set_result(SandboxFailure(kind, message))
            self._failed(kind)

    async def _step(
        self, commands: list[Command], expression_fn: Callable[[bool], str], read: str | None, asked_s: float = 0.0
    ) -> PageObservation:
        for batch in event_batches(commands):
            sent = asyncio.gather(*(self._session.send(method, params) for method, params in batch))
            with self._frames.running(PATIENCE_S) if self._frames else contextlib.nullcontext():
                await (self._with_frames(sent) if ends_in_motion(batch) else sent)
            if batch[-1][1].get("type") == "mouseWheel":
                await self._over_documents("__clock.settleScroll().then(() => 0)", "0")
        canvas = self._camera.path == "canvas"
        observed = self._over_documents(expression_fn(canvas), observe_expression(0, canvas=canvas, read=read))
        value = await (self._stopped_in_time(observed, asked_s) if self._live else observed)
        return PageObservation(png=await self._camera.screenshot(value["image"]), data=value["data"])

    async def _stopped_in_time(self, work: Coroutine[Any, Any, T], asked_s: float) -> T:
        """Awaits `work`; at the timeout presses Stop loading, repeatedly.

        The renderer hears of nothing while it waits for its next document, and the browser does.
        """
        task = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait({task}, timeout=LONGEST_LOAD_S + asked_s))[0]:
                asked_s = 0.0
                await self._session.send("Page.stopLoading")
            return task.result()
        finally:
            task.cancel()

    async def _over_documents(self, expression: str, resumed: str) -> Any:
        """The value of `expression`, or of `resumed` in the document that has followed meanwhile."""
        while True:
            try:
                if self._frames is None:
                    return await self._evaluate(expression)
                value = await self._evaluate(wishing_expression(expression))
                while value is None:
                    self._frames.wish()
                    value = await self._evaluate(wishing_expression(resumed, goes_on=True))
                return value
            except ProtocolError as error:
                if not is_navigation(error):
                    raise
                expression = resumed

    async def _evaluate(self, expression: str) -> Any:
        answer = await self._session.send(
            "Runtime.evaluate", {"expression": expression, "awaitPromise": True, "returnByValue": True}
        )
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise PageError(details.get("exception", {}).get("description") or details.get("text", "exception"))
        return answer["result"].get("value")

    def _with_frames(self, work: Awaitable[T]) -> Awaitable[T]:
        """Awaits `work`, which ends with one of the next frames."""
        return self._frames.until(work) if self._frames else work

    async def capture(self) -> bytes:
        sent = self._session.send("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True})
        answer = await self._with_frames(sent)
        return base64.b64decode(answer["data"])

    async def _plain(self) -> bytes:
        shot = self._page.screenshot(type="png", animations="allow", caret="initial", timeout=0)
        return await self._with_frames(shot)

    async def _guarded(self, work: Coroutine[Any, Any, T], name: str, *, asked_s: float = 0.0) -> T:
        """The result of `work`, unless the page ends or the time is over first, to which `asked_s` are added."""
        timeout_s = self._timeout_s + asked_s
        if self._end.done():
            work.close()
            raise self._end.result()
        task = asyncio.ensure_future(work)
        waiting: set[asyncio.Future[Any]] = {task, self._end}
        try:
            await asyncio.wait(waiting, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not task.done():
                task.cancel()
        if not task.done():
            self.fail("timeout", f"{name} took longer than {timeout_s:g} s")
            raise self._end.result()
        try:
            return task.result()
        except (PlaywrightError, ConnectionError, ProtocolError) as error:
            refused = is_refusal(error)
            if not refused or str(error) == INTERNAL_ERROR:
                await asyncio.wait({self._end}, timeout=DIAGNOSIS_S)
            if refused and not self._end.done():
                raise PageError(str(error)) from error
            self.fail("renderer", str(error))
            raise self._end.result() from error


def _checked_rate(rate: float) -> float:
    if not rate > 0:
        raise InputError(f"rate must be virtual seconds per second, above 0; got {rate!r}")
    return rate
