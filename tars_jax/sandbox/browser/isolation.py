"""A page of its own context that reads one site and, unless its task names hosts, reaches nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator
from functools import partial
from typing import cast

from playwright.async_api import BrowserContext, Dialog, ProxySettings, Route, StorageState
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page as PlaywrightPage

from tars_jax import InputError
from tars_jax.sandbox.browser.clock import (
    CLOCK_SCRIPT,
    FILES_SCRIPT,
    ORIGIN,
    REPORTING,
    TELLER,
    WORKER_MARK,
    WORKER_SCRIPT,
    resume_script,
)
from tars_jax.sandbox.browser.connection import DevToolsConnection, DevToolsSession
from tars_jax.sandbox.browser.downloads import Downloader
from tars_jax.sandbox.browser.drawings import still
from tars_jax.sandbox.browser.frames import PageFrames
from tars_jax.sandbox.browser.launch import FrameMode, Launched
from tars_jax.sandbox.browser.page_events import LONGEST_TEXT, Report, VirtualMoment, watch
from tars_jax.sandbox.browser.site import PageSpec, Site, part_of
from tars_jax.sandbox.failures import SandboxFailure
from tars_jax.web.network import Hosts

_REPORTED = {"Content-Security-Policy-Report-Only": REPORTING}
_NO_STORAGE = (
    "storageState.",
    "Unable to restore",
)  # of another form than Playwright's, or of values that no page keeps


@dataclasses.dataclass(frozen=True)
class BrowserTab:
    """A page as Playwright sees it, and the manager's own session with it."""

    context: BrowserContext
    page: PlaywrightPage
    session: DevToolsSession
    target: str  # the page's id in the debugging protocol
    connection: DevToolsConnection
    frames: PageFrames | None  # None where the browser makes them by itself


async def new_context(
    launched: Launched, spec: PageSpec, hosts: Hosts, proxy_port: int | None = None, report: Report | None = None, *,
    has_files: bool = False,
) -> BrowserContext:  # fmt: skip
    """A context with the virtual clock, whose requests the spec's site answers. Viewport at device scale 1.

    Requests to `hosts` leave through the proxy at `proxy_port`; `report` hears of all others.

    Raises SandboxFailure("storage") when the spec's storage is none that a page can be given.
    """
    proxy = ProxySettings(server=f"http://{launched.proxy_host}:{proxy_port}", bypass="<-loopback>")
    try:
        context = await launched.browser.new_context(
            viewport={"width": spec.width, "height": spec.height}, device_scale_factor=1,
            timezone_id="UTC", locale="en-US", service_workers="block", accept_downloads=False,
            storage_state=cast(StorageState, spec.storage), proxy=None if proxy_port is None else proxy,
        )  # fmt: skip
    except PlaywrightError as error:
        if any(words in error.message for words in _NO_STORAGE):
            raise SandboxFailure("storage", error.message[:LONGEST_TEXT]) from None
        raise
    await context.add_init_script(script=CLOCK_SCRIPT)
    if has_files:
        await context.add_init_script(script=FILES_SCRIPT)
    site = still(spec.site) if launched.kind.smil else spec.site
    await context.route("**/*", partial(serve, site, hosts, report))
    await context.route(f"{TELLER}**", VirtualMoment().answer)
    return context


async def new_tab(
    launched: Launched, context: BrowserContext, report: Report | None = None, downloader: Downloader | None = None,
    *, accepts_dialogs: bool = False,
) -> BrowserTab:  # fmt: skip
    """The only page of a context: dialogs are dismissed or accepted, popups closed, and `report` hears of them.

    Downloads are refused unless there is a `downloader`.
    """
    page = await context.new_page()
    async with alive(page):
        playwright_session = await context.new_cdp_session(page)
        info = (await playwright_session.send("Target.getTargetInfo"))["targetInfo"]
        target = info["targetId"]
        await playwright_session.detach()
        session = await launched.connection.attach(target)
        await session.send("Animation.setPlaybackRate", {"playbackRate": 0})  # animations.js moves them
    if report is not None:
        watch(page, report, downloads=downloader is None, dialogs="accepted" if accepts_dialogs else "dismissed")
    if downloader is not None:
        await downloader.begin(launched.connection, info["browserContextId"])
    page.on("dialog", _accept if accepts_dialogs else _dismiss)
    context.on("page", _close_popup)
    frames = PageFrames(session) if launched.kind.frames is FrameMode.REQUESTED else None
    return BrowserTab(context, page, session, target, launched.connection, frames)


@contextlib.asynccontextmanager
async def alive(page: PlaywrightPage) -> AsyncIterator[None]:
    """Raises ConnectionError when the page's renderer crashes while it is open: it leaves calls without an answer."""
    until_crash = asyncio.timeout(None)

    def crashed(_: PlaywrightPage) -> None:
        until_crash.reschedule(asyncio.get_running_loop().time())

    page.on("crash", crashed)
    try:
        async with until_crash:
            yield
    except TimeoutError:
        if until_crash.expired():
            raise ConnectionError("its renderer crashed") from None
        raise
    finally:
        page.remove_listener("crash", crashed)


async def show(tab: BrowserTab, spec: PageSpec, timeout_s: float) -> None:
    """Loads the first document, at the time that the spec says.

    Raises InputError when a file of the site does not load, what Playwright raises when the page dies. Another host
    has `timeout_s` to answer; one that does not leaves the page on the browser's own words about that.
    """
    url = spec.at or spec.site.url
    resume = None
    if spec.clock is not None:
        await tab.session.send("Page.enable")
        resume = await tab.session.send("Page.addScriptToEvaluateOnNewDocument", {"source": resume_script(spec.clock)})
    if url.startswith(f"{ORIGIN}/"):
        response = await tab.page.goto(url, timeout=0)
        if response is None or not response.ok:
            raise InputError(f"site {spec.site.root} did not serve {url.removeprefix(f'{ORIGIN}/')!r}")
    else:
        with contextlib.suppress(PlaywrightError):
            await tab.page.goto(url, timeout=timeout_s * 1000)
    if resume is not None:
        await tab.session.send("Page.removeScriptToEvaluateOnNewDocument", resume)
        await tab.session.send("Page.disable")


async def serve(site: Site, hosts: Hosts, report: Report | None, route: Route) -> None:
    """Answers from the site's folder, and lets requests to the named hosts go; every other one is aborted."""
    with contextlib.suppress(PlaywrightError):  # the page may be gone before its answer
        path = site.find(route.request.url)
        if path is not None:
            clock = WORKER_SCRIPT.encode() + b"\n" if route.request.url.endswith(WORKER_MARK) else b""
            body, kind = site.read(path, route.request.resource_type)
            status, body, ranges = part_of(clock + body, route.request.headers.get("range"))
            await route.fulfill(status=status, body=body, headers={"Content-Type": kind, **ranges, **_REPORTED})
        elif route.request.url.startswith(f"{ORIGIN}/"):
            await route.fulfill(status=404, body="no such file", headers=_REPORTED)
        elif hosts.allows_url(route.request.url):
            await route.continue_()
        else:
            if report is not None:
                report("blocked", {"url": route.request.url[:LONGEST_TEXT]})
            await route.abort()


async def _dismiss(dialog: Dialog) -> None:
    with contextlib.suppress(PlaywrightError):
        await dialog.dismiss()


async def _accept(dialog: Dialog) -> None:
    with contextlib.suppress(PlaywrightError):
        await dialog.accept(dialog.default_value)


async def _close_popup(popup: PlaywrightPage) -> None:
    with contextlib.suppress(PlaywrightError):
        await popup.close()
