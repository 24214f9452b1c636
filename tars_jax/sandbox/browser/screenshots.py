"""Lossless screenshots of a page, by the cheapest path that is right for it."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import io
import struct
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np
from PIL import Image

from tars_jax.sandbox.browser.connection import ProtocolError

DATA_URL = "data:image/png;base64,"
NOTHING_TO_SHOW = "Unable to capture screenshot"  # said for a moment, as while a GPU process is started again
RETRIES_S = (0.1, 0.3, 1.0, 3.0)  # real
T = TypeVar("T")
Take: TypeAlias = Callable[[], Awaitable[bytes]]  # a PNG of the page as it is now


@dataclasses.dataclass(frozen=True)
class PageObservation:
    """Screenshot of a page after a step, and what was read from the page at that moment."""

    png: bytes
    data: Any  # value of the `read` expression, None without one

    @property
    def pixels(self) -> np.ndarray:
        """np.uint8 [H, W, 3]."""
        return decode(self.png)


def decode(png: bytes) -> np.ndarray:
    """The pixels of a PNG as np.uint8 [H, W, 3]."""
    with Image.open(io.BytesIO(png)) as image:
        return np.asarray(image.convert("RGB"))


def png_size(png: bytes) -> tuple[int, int]:
    """(width, height) from the header of a PNG; (0, 0) for anything else."""
    if png[:8] != b"\x89PNG\r\n\x1a\n" or len(png) < 24:
        return 0, 0
    width, height = struct.unpack(">II", png[16:24])
    return width, height


async def retry_until_shown(take: Callable[[], Awaitable[T]]) -> T:
    """Result of `take`, asked again for seconds while the browser has nothing to show."""
    for wait_s in RETRIES_S:
        try:
            return await take()
        except Exception as error:
            if NOTHING_TO_SHOW not in str(error):
                raise
        await asyncio.sleep(wait_s)
    return await take()


class Screenshotter:
    """The screenshot paths of one page, from the cheapest to the plainest.

    canvas: the page's own canvas, read back in the same call that moved the clock; frame: one that is asked for, where
    the browser gives such; cdp: captureScreenshot; plain: Playwright's screenshot. A path that raises is given up for
    this page, and one that gives another size than the viewport, as in full screen, until the next start. A canvas must
    show what the screen shows: the first screenshot of a page is taken both ways and compared.
    """

    def __init__(
        self, path: str, *, single_canvas: bool, size: tuple[int, int],
        frame: Take | None, capture: Take, plain: Take, given_up: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._paths = [path, "plain"] if path in ("canvas", "cdp") else ["plain"]
        if path in ("auto", "frame"):
            canvas = ["canvas"] if single_canvas and path == "auto" else []
            self._paths = [*canvas, *(["frame"] if frame else []), "cdp", "plain"]
        self._other_size: list[str] = []  # paths that are given up until the next start, the cheapest first
        self._size = size
        self._takes = {"cdp": capture, "plain": plain, **({"frame": frame} if frame else {})}
        self._given_up = given_up
        self._trusted = False  # the canvas has been compared with the screen

    @property
    def path(self) -> str:
        return self._paths[0]

    def begin(self) -> None:
        """The page is at a start, in its own size again."""
        self._paths, self._other_size = [*self._other_size, *self._paths], []

    async def screenshot(self, canvas_image: str | None) -> bytes:
        """The PNG of the page as it is now. `canvas_image` is the data URL that the page gave, if it was asked."""
        if self.path == "canvas":
            if (png := await self._canvas(canvas_image)) is not None:
                return png
            self._give_up()
        while self.path != "plain":
            try:
                png = await self._take(self.path)
            except Exception as error:
                if not is_refusal(error):
                    raise
            else:
                if png_size(png) == self._size:
                    return png
                self._other_size.append(self.path)
            self._give_up()
        return await self._take("plain")

    async def wake(self) -> None:
        """Raises what a browser says of a page that it cannot show, also after some seconds."""
        await self._take("cdp")

    async def _take(self, path: str) -> bytes:
        return await retry_until_shown(self._takes[path])

    async def _canvas(self, image: str | None) -> bytes | None:
        if image is None or not image.startswith(DATA_URL):
            return None
        png = base64.b64decode(image[len(DATA_URL) :])
        if png_size(png) != self._size:
            return None
        if not self._trusted:
            screen = await self._take("plain")
            if not np.array_equal(decode(screen), decode(png)):
                return None
            self._trusted = True
        return png

    def _give_up(self) -> None:
        self._given_up(self._paths.pop(0))


def is_navigation(error: Exception) -> bool:
    """Whether an error says that the document which a command was for has been replaced by another one."""
    replaced = ("navigated or closed", "context was destroyed", "Cannot find context", "Cannot find default execution")
    return isinstance(error, ProtocolError) and any(words in str(error) for words in replaced)


def is_refusal(error: Exception) -> bool:
    """Whether an error says that a command was refused or its page navigated, the page itself being alive."""
    gone = ("crashed", "closed", "detached", "Session with given id")
    return isinstance(error, ProtocolError) and (is_navigation(error) or not any(word in str(error) for word in gone))
