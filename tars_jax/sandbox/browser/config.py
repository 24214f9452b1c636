"""Config of a browser sandbox, and which Chromium it runs."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from tars_jax import InputError
from tars_jax.rules import Together, at_least, between, check_fields, field, more_than, one_of
from tars_jax.sandbox.browser.chromium_flags import ANGLE, SOFTWARE
from tars_jax.sandbox.browser.site import MAX_SIDE

EXECUTABLE_VARIABLE = "TARS_JAX_CHROMIUM"
SCREENSHOT_PATHS = ("auto", "canvas", "frame", "cdp", "plain")
REPOSITORY = Path(__file__).resolve().parents[3]


@dataclasses.dataclass(frozen=True)
class BrowserConfig:
    """Several headless browsers with several isolated pages each. Raises InputError for an impossible value."""

    TOGETHER: ClassVar[tuple[Together, ...]] = (
        Together(
            "max_browsers",
            lambda browser: not browser["max_browsers"] or browser["max_browsers"] >= browser["browsers"],
            "0 or browser.browsers or more",
        ),
    )

    executable: str | None = field(None, "path of a Chromium; None: found by find_executable")
    browsers: int = field(2, "browsers that are never closed; each starts with its first page", at_least(1))
    # Where screenshots are asked for by "frame", a page has a browser of its own, and so many times `browsers` in all.
    pages_per_browser: int = field(4, "pages of each browser", at_least(1))
    max_browsers: int = field(
        0, "most browsers: further ones start while all are full, and end when idle; 0: no further ones", at_least(0)
    )
    idle_browser_s: float = field(
        30.0, "seconds after which unused pages and further browsers are closed", more_than(0)
    )
    reserve_mb: int = field(512, "free memory in megabytes below which no further browser starts", at_least(0))
    browser_memory_mb: int = field(
        4096, "memory in megabytes beyond which a browser is restarted when its last page closes", at_least(1)
    )
    health_s: float = field(5.0, "seconds between two looks at the health and size of each browser", more_than(0))
    width: int = field(96, "width of viewports in pixels, at device scale 1", between(1, MAX_SIDE))
    height: int = field(96, "height of viewports in pixels, at device scale 1", between(1, MAX_SIDE))
    call_timeout_s: float = field(20.0, "time limit of one call on a page, in seconds", more_than(0))
    # canvas: read back in the page; frame: asked for, a browser a page; cdp: captureScreenshot; plain: Playwright's
    screenshot: str = field("auto", "how screenshots are taken", one_of(*SCREENSHOT_PATHS))
    use_angle: str = field(
        SOFTWARE,
        "Chromium's --use-angle, which renders WebGL: by software; or with a GPU gl, gl-egl or vulkan",
        one_of(*ANGLE),
    )

    def __post_init__(self) -> None:
        check_fields(self, "browser")


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
