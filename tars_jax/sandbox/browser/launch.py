"""Starting one Chromium through Playwright, with the relay between them."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import os
import secrets
import sys
from pathlib import Path

from playwright.async_api import Browser, Playwright

from tars_jax.sandbox.browser.connection import Connection
from tars_jax.sandbox.browser.frames import are_given_by
from tars_jax.sandbox.browser.processes import VARIABLE, SandboxRun
from tars_jax.sandbox.browser.relay import FRAMES_ON_REQUEST

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
    "--disable-gpu", "--disable-partial-raster", "--force-color-profile=srgb", "--force-device-scale-factor=1",
    "--disable-smooth-scrolling", "--disable-lcd-text", "--font-render-hinting=none",
    "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4"
    ",imageAnimationPolicy=2",  # a moving image shows its first frame: it would move on real time
    # No network: requests are answered by site.py or aborted, and what is no request finds no host and no route.
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)  # fmt: skip
# A frame is drawn once all that it shows has come: captureScreenshot waits for one frame and not for two.
WHOLE_FRAMES = "--run-all-compositor-stages-before-draw"


class Kind(enum.Enum):
    """When a browser makes frames; the values are its flags."""

    CHANGES = ()  # when something changes, for pages that are read back
    STEADY = (WHOLE_FRAMES,)  # 60 a second for each page, also at rest, where 16 pages take .28 of a core
    REQUESTED = (WHOLE_FRAMES, FRAMES_ON_REQUEST)  # when they are asked for (frames.py)


def kind_for(screenshot: str, *, single_canvas: bool, gives_frames: bool | None) -> Kind:
    """The browser for pages whose pictures are taken so (BrowserConfig.screenshot); None: nobody has tried yet."""
    if single_canvas and screenshot in ("auto", "canvas"):
        return Kind.CHANGES
    return Kind.REQUESTED if gives_frames is not False and screenshot in ("auto", "frame") else Kind.STEADY


class FramesRefused(Exception):
    """This Chromium makes no frames on request."""


@dataclasses.dataclass(eq=False)
class Launched:
    """One running Chromium."""

    browser: Browser  # Playwright's view: contexts, pages, their events
    connection: Connection  # the manager's own: the calls of every step
    token: str  # in the environment of its processes
    gate: str  # the only host name that leads anywhere: to loopback, where the gates of pages listen (network.py)
    kind: Kind
    asked_for: bool = False  # by a page


async def launch(
    playwright: Playwright, executable: Path, run: SandboxRun, number: int, kind: Kind, *, untried: bool
) -> Launched:
    """Launch `number` of a run. Raises what Playwright raises, ConnectionError when the relay does not call back,
    FramesRefused by a Chromium that makes no frames on request.

    What is given up, by a timeout for instance, is ended.
    """
    folder = run.folder / f"browser-{number}"
    folder.mkdir()
    token = f"{run.token}.{number}"
    gate = f"{secrets.token_hex(16)}.invalid"  # no page knows it
    connection = Connection()
    server = await asyncio.get_running_loop().create_unix_server(lambda: connection, folder / "relay")
    flags = [
        *FLAGS,
        *kind.value,
        f"--host-resolver-rules=MAP {gate} 127.0.0.1,MAP * ~NOTFOUND",
        *(["--no-sandbox"] if os.geteuid() == 0 else []),
        f"--user-data-dir={folder / 'profile'}",
    ]
    try:
        browser = await playwright.chromium.launch(
            executable_path=sys.executable, ignore_default_args=True,
            args=["-I", "-S", str(RELAY), str(folder / "relay"), str(executable), *flags],
            handle_sigint=False, handle_sigterm=False, handle_sighup=False, chromium_sandbox=os.geteuid() != 0,
            env={**os.environ, VARIABLE: token, "TMPDIR": str(run.folder)},
        )  # fmt: skip
        await connection.ready
        if kind is Kind.REQUESTED and untried and not await are_given_by(connection):
            raise FramesRefused
    except BaseException:
        run.kill(token)
        raise
    finally:
        server.close()
    return Launched(browser, connection, token, gate, kind)


def last_words(error: Exception) -> str:
    """What a browser wrote to its standard error before a failed launch, in one line; else the error's first line."""
    lines = str(error).splitlines() or ["no answer"]
    written = [line.partition("[err] ")[2] for line in lines if line.startswith("[pid=") and "[err] " in line]
    return (written or lines)[-1 if written else 0]
