"""A phone: any Android device that ADB reaches, or the stand-in. Lengths are pixels of its screen as it is turned."""

from __future__ import annotations

import asyncio
import dataclasses
import math
import re
import time
from collections.abc import Mapping
from typing import Self

from PIL import Image

from tars_jax import InputError
from tars_jax.sandbox.phone.adb import Adb, PhoneConfig, ShellResult
from tars_jax.sandbox.phone.app_names import find_package
from tars_jax.sandbox.phone.failures import SCREEN, SandboxFailure
from tars_jax.sandbox.phone.screens import read_png, same
from tars_jax.sandbox.phone.text_input import TextInput

HOLD_MS = 1000
SWIPE_MS = 300
MOST_MS = 10_000
SETTLE_INTERVAL = 0.15  # seconds between two looks
SCROLL = 0.45  # of the screen's side, which a finger moves to scroll
EDGE = 0.06  # of the screen's side, where Android takes a swipe for its own
DIRECTIONS = {"up": (0, 1), "down": (0, -1), "left": (1, 0), "right": (-1, 0)}  # which way the finger goes
FOCUS = re.compile(r"mCurrentFocus=\S+ \S+ (?P<package>[^\s/]+)/(?P<activity>[^\s}]+)")


@dataclasses.dataclass(frozen=True)
class Settled:
    """The last screenshot, and whether it equals the one before."""

    image: Image.Image
    settled: bool


class Phone:
    """Acts on one phone. Use as an async context manager, or `start` it.

    Methods have the names of the actions of the mobile grammar (`click`, `long_press`, `type`, `scroll`, `open_app`,
    `drag`, `press_home`, `press_back`), and take pixels. All raise SandboxFailure with a kind of `failures.py`, and
    InputError for what no phone can do.

    Args:
      apps: packages by the name that `open_app` takes, besides those that `app_names.py` knows.
    """

    def __init__(self, config: PhoneConfig | None = None, *, apps: Mapping[str, str] | None = None) -> None:
        self.config = config or PhoneConfig()
        self._adb = Adb(self.config)
        self._text = TextInput(self._adb)
        self._apps = apps

    @property
    def serial(self) -> str:
        return self._adb.serial

    async def start(self) -> Self:
        await self._adb.connect()
        return self

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        pass  # each call has its own connection to the ADB server, so nothing is open

    async def shell(self, *argv: str, timeout_s: float | None = None) -> ShellResult:
        """Runs a program on the phone, for preparing and verifying."""
        return await self._adb.shell(*argv, timeout_s=timeout_s)

    async def line(self, line: str, *, timeout_s: float | None = None) -> ShellResult:
        """Like `shell`, for a line that the phone's shell reads."""
        return await self._adb.run(line, timeout_s=timeout_s)

    async def push(self, content: bytes, path: str) -> None:
        await self._adb.push(content, path)

    async def pull(self, path: str) -> bytes:
        return await self._adb.pull(path)

    # What is seen.

    async def screenshot(self) -> Image.Image:
        """RGB, turned as the screen is. Fails as "screen" when no whole one came in `screenshot_tries`."""
        problem = ""
        for attempt in range(self.config.screenshot_tries):
            if attempt:
                await asyncio.sleep(0.1 * attempt)
            result = await self._adb.shell("screencap", "-p")
            try:
                return read_png(result.stdout)
            except InputError as error:
                problem = f"{error}; {result.stderr.decode('utf-8', 'replace').strip()[:200]}"
        raise SandboxFailure(SCREEN, f"{self.serial}: {problem}")

    async def settle(self, seconds: float | None = None) -> Settled:
        """Waits until two screenshots in a row show the same, at most `seconds` (the config's `settle_s`)."""
        deadline = time.monotonic() + (self.config.settle_s if seconds is None else seconds)
        image = await self.screenshot()
        while time.monotonic() < deadline:
            await asyncio.sleep(SETTLE_INTERVAL)
            before, image = image, await self.screenshot()
            if same(before, image):
                return Settled(image, True)
        return Settled(image, False)

    async def size(self) -> tuple[int, int]:
        """Width and height of the screen as it is turned now."""
        sizes = re.findall(r"size: (\d+)x(\d+)", (await self._adb.shell("wm", "size")).text)
        if not sizes:
            return (await self.screenshot()).size
        width, height = map(int, sizes[-1])  # an override stands behind the physical size
        return (height, width) if await self.rotation() % 2 else (width, height)

    async def rotation(self) -> int:
        """Quarter turns counterclockwise, 0..3."""
        found = re.search(r"orientation=(\d)", (await self._adb.shell("dumpsys", "display")).text)
        return int(found[1]) % 4 if found else 0

    async def front_app(self) -> tuple[str, str]:
        """Package and activity of what has the focus; two empty texts where nothing has."""
        found = FOCUS.search((await self._adb.shell("dumpsys", "window")).text)
        return (found["package"], found["activity"]) if found else ("", "")

    # What a finger does.

    async def click(self, x: float, y: float) -> None:
        await self._input("tap", *_pixels(x, y))

    async def double_click(self, x: float, y: float) -> None:
        at = " ".join(_pixels(x, y))
        # Both at once: each `input` takes so long to start that two in a row are two clicks.
        await self._checked(await self._adb.run(f"input tap {at} & input tap {at}; wait"), "tap")

    async def long_press(self, x: float, y: float, milliseconds: int = HOLD_MS) -> None:
        await self._input("swipe", *_pixels(x, y), *_pixels(x, y), _duration(milliseconds))

    async def drag(
        self, start: tuple[float, float], end: tuple[float, float], milliseconds: int = SWIPE_MS
    ) -> None:  # fmt: skip
        """A finger that goes down, moves and lifts: scrolls lists, turns pages, moves sliders. Also called a swipe."""
        await self._input("swipe", *_pixels(*start), *_pixels(*end), _duration(milliseconds))

    async def drag_and_drop(
        self, start: tuple[float, float], end: tuple[float, float], milliseconds: int = 2 * HOLD_MS
    ) -> None:  # fmt: skip
        """A finger that holds something, takes it along and lets go."""
        await self._input("draganddrop", *_pixels(*start), *_pixels(*end), _duration(milliseconds))

    async def scroll(self, x: float, y: float, direction: str) -> None:
        """Shows what lies in `direction`: "down" moves a finger up, from (x, y) as far as the screen allows."""
        if direction not in DIRECTIONS:
            raise InputError(f"direction must be one of {', '.join(DIRECTIONS)}; got {direction[:80]!r}")
        across, along = DIRECTIONS[direction]
        size = await self.size()
        start, end = [], []
        for place, side, way in zip((x, y), size, (across, along), strict=True):
            low, high = EDGE * side, (1 - EDGE) * side
            at = min(max(place, low), high)
            to = min(max(at + way * SCROLL * side, low), high)
            # A point near the edge has no room; the finger begins further off then, and goes as far.
            start.append(at - way * (SCROLL * side - abs(to - at)) if way else at)
            end.append(to)
        await self.drag((start[0], start[1]), (end[0], end[1]), SWIPE_MS)

    # What keys do.

    async def type(self, text: str) -> None:
        """Types into what has the focus; each newline is a press of Enter, so a trailing one submits."""
        await self._text.type(text)

    async def clear_text(self) -> None:
        """Empties the field that has the focus."""
        await self._input("keycombination", "113", "29")  # Ctrl and A
        await self.key("DEL")

    async def key(self, name: str) -> None:
        """A key by Android's name, with KEYCODE_ or without, or by its number."""
        if not re.fullmatch(r"\w{1,40}", name, re.ASCII):
            raise InputError(f"a key must be a name such as KEYCODE_TAB; got {name[:80]!r}")
        bare = name.upper().removeprefix("KEYCODE_")
        # A digit may be a key's number or its face: KEYCODE_7 is the face.
        await self._input("keyevent", name if name.isdigit() else f"KEYCODE_{bare}")

    async def press_back(self) -> None:
        await self.key("BACK")

    async def press_home(self) -> None:
        await self.key("HOME")

    async def press_recents(self) -> None:
        await self.key("APP_SWITCH")

    async def press_enter(self) -> None:
        await self.key("ENTER")

    # What the system does.

    async def open_app(self, name: str) -> str:
        """Starts an app, or brings it to the front, by package or name; the package. InputError: there is none."""
        listed = (await self._adb.shell("pm", "list", "packages")).text
        installed = [line.removeprefix("package:").strip() for line in listed.splitlines() if line.strip()]
        package = find_package(name, installed, self._apps)
        if package is None:
            raise InputError(f"app_name must be an app of the phone; got {name[:80]!r}")
        result = await self._adb.shell("monkey", "-p", package, "-c", "android.intent.category.LAUNCHER", "1")
        if result.status or "No activities found" in result.text:
            raise InputError(f"app_name must be an app that can be opened; got {name[:80]!r} ({package})")
        return package

    async def close_app(self, package: str) -> None:
        await self._adb.shell("am", "force-stop", package)

    async def rotate(self, quarter_turns: int) -> None:
        """Turns the screen to 0..3 quarter turns, and keeps it so. An app may have its own will, as on any phone."""
        if quarter_turns not in range(4):
            raise InputError(f"quarter_turns must be 0 to 3; got {quarter_turns!r}")
        for name, value in (("accelerometer_rotation", 0), ("user_rotation", quarter_turns)):
            result = await self._adb.shell("settings", "put", "system", name, str(value))
            await self._checked(result, "settings")
        deadline = time.monotonic() + self.config.settle_s
        while await self.rotation() != quarter_turns and time.monotonic() < deadline:
            await asyncio.sleep(SETTLE_INTERVAL)

    async def _input(self, *words: str) -> None:
        await self._checked(await self._adb.shell("input", *words), words[0])

    async def _checked(self, result: ShellResult, what: str) -> None:
        if result.status:
            said = (result.stderr or result.stdout).decode("utf-8", "replace").strip()
            raise InputError(f"the phone must take {what}; it said {said[:300]!r}")


def _pixels(x: float, y: float) -> tuple[str, str]:
    if not all(math.isfinite(place) and 0 <= place < 1 << 15 for place in (x, y)):
        raise InputError(f"x and y must be pixels of the screen; got ({x}, {y})")
    return str(int(x)), str(int(y))


def _duration(milliseconds: int) -> str:
    if not 0 <= milliseconds <= MOST_MS:
        raise InputError(f"milliseconds must be 0 to {MOST_MS}; got {milliseconds!r}")
    return str(int(milliseconds))
