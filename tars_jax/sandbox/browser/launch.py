"""Starting one Chromium through Playwright, with the relay between them; and diagnostics of one that failed to start:
its standard error, in one sentence that says what helps."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import os
import re
import secrets
import sys
from pathlib import Path

from playwright.async_api import Browser, Playwright

from tars_jax.sandbox.browser.chromium_flags import (
    SWITCH,
    angle_flags,
    check_renderer,
    is_sandboxed,
    sandbox_environment,
    sandbox_flags,
)
from tars_jax.sandbox.browser.connection import DevToolsConnection
from tars_jax.sandbox.browser.frames import are_given_by
from tars_jax.sandbox.browser.processes import VARIABLE, SandboxRun
from tars_jax.sandbox.browser.relay import ENDED, FRAMES_ON_REQUEST

RELAY = Path(__file__).with_name("relay.py")
FLAGS = (
    # A plain headless browser that starts nothing and asks nothing by itself.
    "--headless", "--no-startup-window", "--hide-scrollbars", "--mute-audio", "--no-first-run",
    "--no-default-browser-check", "--disable-extensions", "--disable-default-apps", "--disable-sync",
    "--disable-component-update", "--disable-breakpad", "--disable-background-networking",
    "--disable-popup-blocking", "--disable-prompt-on-repost", "--disable-hang-monitor",
    "--disable-field-trial-config", "--disable-search-engine-choice-screen", "--metrics-recording-only",
    "--password-store=basic", "--disable-back-forward-cache", "--disable-ipc-flooding-protection",
    "--allow-pre-commit-input",
    "--disable-features=" + ",".join((
        "DeferRendererTasksAfterInput",  # would hold each step back until the next frame, 16 ms after its input
        "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades", "PaintHolding",
        "HttpsFirstBalancedModeAutoEnable", "MediaRouter", "OptimizationHints", "NetworkTimeServiceQuerying",
    )),
    "--enable-features=CDPScreenshotNewSurface",
    # Pages that nobody looks at run as fast as the others; a small /dev/shm crashes renderers.
    "--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding", "--disable-dev-shm-usage",
    # The same pixels on every machine.
    "--disable-partial-raster", "--force-color-profile=srgb", "--force-device-scale-factor=1",
    "--disable-smooth-scrolling", "--disable-lcd-text", "--font-render-hinting=none",
    # No network: requests are answered by site.py or aborted, and what is no request finds no host and no route.
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)  # fmt: skip
# A frame is drawn once all that it shows has come: captureScreenshot waits for one frame and not for two.
WHOLE_FRAMES = "--run-all-compositor-stages-before-draw"


SETTINGS = "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4"
# A moving image shows its first frame: it would move on real time. SVG's own animations are off with that.
STILL = ",imageAnimationPolicy=2"
# With them, images stand as far as the site (drawings.py) and a style (clock/page.js) bring that about.
STILL_BY_STYLE = "--enable-blink-features=CSSImageAnimation"
LONGEST = 400
WRITTEN = re.compile(r"\[pid=\d+\]\[err\] ?(.*)")  # in Playwright's log of a launch
# Chromium's log: [1125/123403.726862:ERROR:content/browser/zygote_host.cc:130] No usable sandbox!
LOGGED = re.compile(r"\[[\d/:.]+:(?P<severity>[A-Z]+)\d*:(?P<source>[^\]]*)\] ?")
# The stack of what crashed, registers included. Its first line names the signal, which may be all that there is.
STACK = re.compile(r"\s*(#\d+ |\[end of stack trace\]|Calling _exit|(?:[a-z]{2,3}|r\d+): [0-9a-f]{8,})")
# What can be done about it. The browser's words end where these begin.
REMEDIES = {
    "No usable sandbox": "allow user namespaces, or install the package chromium-sandbox (as root), or set "
    f"{SWITCH}=0, and pages run without Chromium's sandbox",
    "Running as root without --no-sandbox": f"unset {SWITCH}, or set it to 0",
    "error while loading shared libraries": "install what it needs, as root: `playwright install-deps chromium`, or "
    "`apt-get install chromium-headless-shell` for one that comes with all of it",
    "Exec format error": "take a Chromium that was built for this processor",
    "No space left on device": "free some space, or set TMPDIR to a folder that has some",
}


class FrameMode(enum.Enum):
    """The times at which a browser makes frames."""

    CHANGES = "changes"  # when something changes, for pages that are read back
    STEADY = "steady"  # 60 a second for each page, also at rest, where 16 pages take .28 of a core
    REQUESTED = "requested"  # when they are asked for (frames.py)


FRAME_FLAGS = {
    FrameMode.CHANGES: [],
    FrameMode.STEADY: [WHOLE_FRAMES],
    FrameMode.REQUESTED: [WHOLE_FRAMES, FRAMES_ON_REQUEST],
}


@dataclasses.dataclass(frozen=True)
class BrowserKind:
    """Kind of browser, by the frames and animations that its pages need."""

    frames: FrameMode
    smil: bool = False  # for SVG's own animations, which others do without

    @property
    def alone(self) -> bool:
        """Whether a page has such a browser to itself."""
        return self.smil or self.frames is FrameMode.REQUESTED

    @property
    def flags(self) -> list[str]:
        moving = [SETTINGS, STILL_BY_STYLE] if self.smil else [SETTINGS + STILL]
        return [*FRAME_FLAGS[self.frames], *moving]


def kind_for(screenshot: str, *, single_canvas: bool, smil: bool, gives_frames: bool | None) -> BrowserKind:
    """The browser for pages whose screenshots are taken so (BrowserConfig.screenshot); None: nobody has tried yet."""
    if single_canvas and screenshot in ("auto", "canvas"):
        return BrowserKind(FrameMode.CHANGES, smil)
    asked = gives_frames is not False and screenshot in ("auto", "frame")
    return BrowserKind(FrameMode.REQUESTED if asked else FrameMode.STEADY, smil)


class FramesRefused(Exception):
    """A Chromium that makes no frames on request."""


@dataclasses.dataclass(eq=False)
class Launched:
    """A launched Chromium."""

    browser: Browser  # Playwright's view: contexts, pages, their events
    connection: DevToolsConnection  # the manager's own: the calls of every step
    token: str  # in the environment of its processes
    proxy_host: str  # the only host name that leads anywhere: to loopback, where pages' proxies listen (network.py)
    kind: BrowserKind
    asked_for: bool = False  # by a page


async def launch(
    playwright: Playwright,
    executable: Path,
    run: SandboxRun,
    number: int,
    kind: BrowserKind,
    *,
    use_angle: str,
    untried: bool,
) -> Launched:
    """Launch `number` of a run. Raises what Playwright raises, ConnectionError when the relay does not call back,
    FramesRefused by a Chromium that makes no frames on request, InputError without the GPU of `use_angle`.

    What is given up, by a timeout for instance, is ended.
    """
    folder = run.folder / f"browser-{number}"
    folder.mkdir()
    token = f"{run.token}.{number}"
    proxy_host = f"{secrets.token_hex(16)}.invalid"  # no page knows it
    connection = DevToolsConnection()
    server = await asyncio.get_running_loop().create_unix_server(lambda: connection, folder / "relay")
    flags = [
        *FLAGS,
        *angle_flags(use_angle),
        *kind.flags,
        f"--host-resolver-rules=MAP {proxy_host} 127.0.0.1,MAP * ~NOTFOUND",
        *sandbox_flags(),
        f"--user-data-dir={folder / 'profile'}",
    ]
    try:
        browser = await playwright.chromium.launch(
            executable_path=sys.executable, ignore_default_args=True,
            args=["-I", "-S", str(RELAY), str(folder / "relay"), str(executable), *flags],
            handle_sigint=False, handle_sigterm=False, handle_sighup=False, chromium_sandbox=is_sandboxed(),
            env={**os.environ, **sandbox_environment(), VARIABLE: token, "TMPDIR": str(run.folder)},
        )  # fmt: skip
        await connection.ready
        if kind.frames is FrameMode.REQUESTED and untried and not await are_given_by(connection):
            raise FramesRefused
        await check_renderer(browser, use_angle)
    except BaseException:
        run.kill(token)
        raise
    finally:
        server.close()
    return Launched(browser, connection, token, proxy_host, kind)


def launch_failure(error: Exception) -> str | None:
    """The reason that a browser gave on a failed launch, and what serves against it; None where it gave none."""
    found = [WRITTEN.search(line) for line in str(error).splitlines()]
    lines = [match[1].rstrip() for match in found if match and match[1].strip()]
    for key, remedy in REMEDIES.items():
        for line in lines:
            if key in line:
                reason = _message(line)
                return f"{reason[: reason.index(key) + len(key)] + _rest_of(reason, key)}; {remedy}"
    reasons = [line for line in lines if not _is_chatter(line) and not line.startswith(ENDED)]
    fatal = [line for line in reasons if (logged := LOGGED.match(line)) and logged["severity"] == "FATAL"]
    told = fatal[:1] or reasons[-1:] or lines[-1:]
    return _message(told[0])[:LONGEST] if told else None


def _message(line: str) -> str:
    return LOGGED.sub("", line, count=1)


def _rest_of(reason: str, key: str) -> str:
    """The rest of the sentence behind a key, such as the name of a library."""
    rest = reason[reason.index(key) + len(key) :]
    return rest.split("! ")[0].split(". ")[0].rstrip(".!")[:LONGEST]


def _is_chatter(line: str) -> bool:
    """Whether a line says nothing about an end: browsers that live write such, too."""
    logged = LOGGED.match(line)
    quiet = logged and (logged["severity"] in ("INFO", "WARNING", "VERBOSE") or "dbus" in logged["source"])
    return bool(quiet or STACK.match(line))
