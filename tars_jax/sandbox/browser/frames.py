"""The frames of a page whose browser makes none but those that are asked for.

Such a frame comes at once, not with the next tick of a display, and its image shows what the page is then. Chromium
takes one at a time and waits in it for all pages of the browser: a page that hangs would hold up its neighbors, so it
has a browser to itself. Chromium's headless shell can do this; what cannot refuses it (`are_given_by`).
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import time
from collections.abc import Awaitable, Iterator
from typing import Any, TypeVar

from tars_jax.sandbox.browser.connection import DevToolsConnection, DevToolsSession, ProtocolError

FRAME = "HeadlessExperimental.beginFrame"
FRAME_S = 1 / 60
MOMENT_S = 0.05  # real; what runs longer may wait for frames
PATIENCE_S = 1.0  # real; input that is not acknowledged by then may wait for frames that nobody asks for
BLANK_S = 5.0  # real, of frames without an image, as while a GPU process that ended is started again
POPUP_S = 3.0  # real; what takes longer may be a popup
ESCAPE = {"key": "Escape", "code": "Escape", "windowsVirtualKeyCode": 27}
T = TypeVar("T")


class PageFrames:
    """Makes the frames of one page: for screenshots, for what the page waits for, and for who looks at it."""

    def __init__(self, session: DevToolsSession) -> None:
        self._session = session
        self._turn = asyncio.Lock()
        self._latest: asyncio.Future[dict[str, Any]] | None = None
        self._wished: asyncio.Future[None] | None = None
        self._wish_waits = False
        self._runs = 0
        self._tick: asyncio.TimerHandle | None = None

    async def screenshot(self) -> bytes:
        """A frame and its PNG. Raises ProtocolError when the browser refuses it or gives none."""
        until = time.monotonic() + BLANK_S
        while time.monotonic() < until:
            answer = await self._frame({"screenshot": {"format": "png", "optimizeForSpeed": True}})
            if "screenshotData" in answer:
                return base64.b64decode(answer["screenshotData"])
            await asyncio.sleep(FRAME_S)
        raise ProtocolError("frames without an image")

    async def until(self, work: Awaitable[T]) -> T:
        """The result of what comes with one of the next frames; they are made until then."""
        task = asyncio.ensure_future(work)
        try:
            with contextlib.suppress(ProtocolError):
                while not task.done():
                    await self._frame({})
            return await task
        finally:
            task.cancel()

    def wish(self) -> None:
        """Makes a frame soon, beside what goes on."""
        if not self._wish_waits:
            self._wish_waits = True
            self._wished = asyncio.ensure_future(self._grant())

    @contextlib.contextmanager
    def running(self, after_s: float = MOMENT_S) -> Iterator[None]:
        """While it is open, frames come as on a display, but for its first moment."""
        self._runs += 1
        if self._tick is None:
            self._tick = asyncio.get_running_loop().call_later(after_s, self._run)
        try:
            yield
        finally:
            self._runs -= 1
            if not self._runs and self._tick is not None:
                self._tick.cancel()
                self._tick = None

    def _run(self) -> None:
        self.wish()
        self._tick = asyncio.get_running_loop().call_later(FRAME_S, self._run)

    async def _grant(self) -> None:
        with contextlib.suppress(ConnectionError, ProtocolError):  # whoever waits for the page hears of it
            await self._frame({})

    async def _frame(self, params: dict[str, Any]) -> dict[str, Any]:
        """One frame after the other: two at a time end Chromium's GPU process, whoever still waits for the first."""
        async with self._turn:
            if self._latest is not None:
                await asyncio.wait({self._latest})
            self._wish_waits = False  # a later one may come too late for this frame
            self._latest = asyncio.ensure_future(self._session.send(FRAME, params))
            self._latest.add_done_callback(_heard)  # who asked may have given up
            if not (await asyncio.wait({self._latest}, timeout=POPUP_S))[0]:
                await self._close_popup()
            return await asyncio.shield(self._latest)

    async def _close_popup(self) -> None:
        """No frame with a picture ends while a popup of the platform is open, as of a control that no script sees."""
        for kind in ("rawKeyDown", "keyUp"):
            await self._session.send("Input.dispatchKeyEvent", {"type": kind, **ESCAPE})


def _heard(sent: asyncio.Future[dict[str, Any]]) -> None:
    if not sent.cancelled():
        sent.exception()


async def are_given_by(connection: DevToolsConnection) -> bool:
    """Whether a browser that was started as Kind.REQUESTED (launch.py) makes frames when asked."""
    browser = await connection.attach_to_browser()
    try:
        made = await browser.send("Target.createTarget", {"url": "about:blank", "enableBeginFrameControl": True})
    except ProtocolError:
        return False
    try:
        await (await connection.attach(made["targetId"])).send(FRAME)
    except ProtocolError:
        return False
    finally:
        await browser.send("Target.closeTarget", made)
        await connection.detach(browser.id)
    return True
