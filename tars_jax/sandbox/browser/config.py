"""What a browser sandbox can be told, and which Chromium it runs."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from tars_jax import InputError
from tars_jax.sandbox.browser.angle import ANGLE, SOFTWARE
from tars_jax.sandbox.browser.site import MAX_SIDE

EXECUTABLE_VARIABLE = "TARS_JAX_CHROMIUM"
SCREENSHOT_PATHS = ("auto", "canvas", "frame", "cdp", "plain")
REPOSITORY = Path(__file__).resolve().parents[3]


@dataclasses.dataclass(frozen=True)
class BrowserConfig:
    """Several headless browsers with several isolated pages each. Raises InputError for an impossible value."""

    executable: str | None = None  # path of a Chromium; found by find_executable when None
    browsers: int = 2  # that pages are spread over; each starts with its first page
    pages_per_browser: int = 4  # "frame" pages have a browser each, and so many times `browsers` in all
    max_browsers: int = 0  # further ones start while all are full and end when idle; 0: none
    idle_browser_s: float = 30.0  # a further browser ends when it has had no page so long
    reserve_mb: int = 512  # no further browser starts while the machine has less free memory
    browser_memory_mb: int = 4096  # a browser that grew beyond takes no new page, and is replaced when its last closes
    health_s: float = 5.0  # between two looks at the health and size of each browser
    width: int = 96  # of the viewport, CSS pixels at device scale 1
    height: int = 96
    call_timeout_s: float = 20.0  # a call on a page that takes longer fails as "timeout"
    # canvas: read back in the page; frame: asked for, a browser a page; cdp: captureScreenshot; plain: Playwright's
    screenshot: str = "auto"
    use_angle: str = SOFTWARE  # what draws WebGL: swiftshader, by software; gl, gl-egl or vulkan, by a GPU (angle.py)

    def __post_init__(self) -> None:
        for name in ("browsers", "pages_per_browser", "browser_memory_mb"):
            if (value := getattr(self, name)) < 1:
                raise InputError(f"browser.{name} must be a whole number of at least 1; got {value!r}")
        for name in ("width", "height"):
            if not 1 <= (value := getattr(self, name)) <= MAX_SIDE:
                raise InputError(f"browser.{name} must be pixels, 1 to {MAX_SIDE}; got {value!r}")
        for name in ("call_timeout_s", "idle_browser_s", "health_s"):
            if (seconds := getattr(self, name)) <= 0:
                raise InputError(f"browser.{name} must be seconds above 0; got {seconds!r}")
        if self.max_browsers and self.max_browsers < self.browsers:
            raise InputError(f"browser.max_browsers must be 0 or browser.browsers or more; got {self.max_browsers!r}")
        if self.use_angle not in ANGLE:
            raise InputError(f"browser.use_angle must be one of {', '.join(ANGLE)}; got {self.use_angle!r}")
        if self.screenshot not in SCREENSHOT_PATHS:
            raise InputError(
                f"browser.screenshot must be one of {', '.join(SCREENSHOT_PATHS)}; got {self.screenshot!r}"
            )


def find_executable(given: str | None = None) -> Path:
    """The Chromium to run: `given`, $TARS_JAX_CHROMIUM, then headless shells, then full browsers.

    A headless shell takes two to four times less memory than a full Chromium, so a shell of .cache/chromium or of
    Playwright comes before a full Chromium of the system. Raises InputError when there is none.
    """
    for source, value in (("browser.executable", given), (EXECUTABLE_VARIABLE, os.environ.get(EXECUTABLE_VARIABLE))):
        if value:
            path = Path(value).expanduser()
            if not _runs(path):
                raise InputError(
                    f"{source} must be the path of a Chromium; got {value!r}, which is not a program that can be run"
                )
            return path.absolute()
    for path in _candidates():
        if _runs(path):
            return path.absolute()
    raise InputError(
        f"no Chromium found: not in ${EXECUTABLE_VARIABLE}, on the PATH, in {REPOSITORY / '.cache/chromium'} or in "
        f"{_playwright_folder()}; `playwright install chromium-headless-shell` "
        "or `apt-get install chromium-headless-shell` brings one"
    )


def _candidates() -> Iterator[Path]:
    shells = ("chromium-headless-shell", "headless_shell", "headless-shell", "chrome-headless-shell")
    full = ("chromium", "chromium-browser", "google-chrome", "chrome")
    cache = REPOSITORY / ".cache" / "chromium"
    for names, folder in ((shells, "chromium_headless_shell-*"), (full, "chromium-*")):
        yield from (Path(found) for name in names if (found := shutil.which(name)))
        yield from (path for name in names for path in sorted(cache.rglob(name)))
        yield from (
            path for name in names for path in sorted(_playwright_folder().glob(f"{folder}/*/{name}"), reverse=True)
        )


def _playwright_folder() -> Path:
    given = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    return Path(given) if given and given != "0" else Path.home() / ".cache" / "ms-playwright"


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
