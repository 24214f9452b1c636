"""Pages whose frames are asked for: each has a browser to itself, and gets the frames that it waits for."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import Any

import numpy as np
import pytest

from tars_jax.environment import Observation
from tars_jax.sandbox.browser import (
    BrowserConfig,
    BrowserManager,
    InputEvent,
    MouseDown,
    MouseMove,
    MouseUp,
    Page,
    SandboxFailure,
    Wheel,
    frames,
    screenshots,
)
from tars_jax.sandbox.browser.connection import ProtocolError
from tars_jax.sandbox.browser.relay import with_frames_on_request
from tests.sandbox.test_browser_failures import processes

pytestmark = pytest.mark.browser
CLICK: list[InputEvent] = [MouseMove(9, 9), MouseDown(9, 9), MouseUp(9, 9)]
SLIDE = """<body style="margin: 0; height: 3000px"><p id=p style="position: absolute; left: 0; transition: left 50ms">
  <script>const log = []; let x = 0;
  addEventListener('click', () => { p.style.left = `${x += 10}px`; });
  for (const kind of ['mousemove', 'scroll', 'transitionstart', 'transitionend'])
    addEventListener(kind, () => log.push(`${kind} ${performance.now()}`));</script>"""


def only_asked_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """No frame comes by the hour: what a page is not given when it asks hangs."""
    monkeypatch.setattr(frames, "PATIENCE_S", 1000.0)


def test_a_page_is_given_the_frames_that_it_waits_for(laboratory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    only_asked_frames(monkeypatch)
    page = laboratory.open(SLIDE)

    async def live() -> list[str]:
        await page.start("0", seed=0)
        await page.act([MouseMove(20, 20), MouseMove(30, 30)], advance_ms=20)
        await page.act([Wheel(30, 30, 0, 40)], advance_ms=20)
        await page.act(CLICK, advance_ms=100)
        return (await page.act([], advance_ms=20, read="[...log, scrollY]")).data

    assert laboratory.run(live()) == [
        "mousemove 0", "mousemove 0", "scroll 20", "mousemove 40", "transitionstart 40", "transitionend 100", 40,
    ]  # fmt: skip


def test_a_page_that_leaves_while_it_waits_for_a_frame_goes_on_in_the_next_document(
    laboratory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_asked_frames(monkeypatch)
    page = laboratory.open(SLIDE + "<script>p.ontransitionstart = () => location.href = 'index.html?next'</script>")

    async def live() -> Any:
        await page.start("0", seed=0)
        return (await page.act(CLICK, advance_ms=200, read="[location.search, __clock.timeline.now]")).data

    assert laboratory.run(live()) == ["?next", 200]


def test_frames_of_one_page_never_overlap() -> None:
    """Two at a time end Chromium's GPU process, whoever waited for the first and has given up."""
    under_way, most, count = 0, 0, 0

    class Slow:
        async def send(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
            nonlocal under_way, most, count
            under_way += 1
            most, count = max(most, under_way), count + 1
            await asyncio.sleep(0.02)
            under_way -= 1
            return {"screenshotData": "aGk="} if params else {}

    async def crowd() -> None:
        source = frames.PageFrames(Slow())  # type: ignore[arg-type]
        for _ in range(5):
            source.wish()
            waiting = asyncio.ensure_future(source.screenshot())
            await asyncio.sleep(0.01)
            waiting.cancel()
            assert await source.screenshot() == b"hi"
            assert await source.until(asyncio.sleep(0.03, 7)) == 7

    asyncio.run(crowd())
    assert most == 1 and count > 10


@pytest.mark.parametrize("refusals", [3, 1000])
def test_a_browser_that_shows_nothing_for_a_moment_is_asked_again(
    refusals: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screenshots, "RETRIES_S", (0.0,) * 4)
    given_up: list[str] = []
    left, picture = refusals, Observation.from_pixels(np.zeros((4, 6, 3), np.uint8)).screenshot

    async def take() -> bytes:
        nonlocal left
        left -= 1
        if left >= 0:
            raise ProtocolError("Protocol error (Page.captureScreenshot): Unable to capture screenshot")
        return picture

    camera = screenshots.Screenshotter(
        "auto", single_canvas=False, size=(6, 4), frame=None, capture=take, plain=take, given_up=given_up.append
    )
    if refusals < 4:
        assert asyncio.run(camera.screenshot(None)) == picture and not given_up
    else:
        with pytest.raises(ProtocolError, match="Unable to capture"):
            asyncio.run(camera.screenshot(None))
        assert given_up == ["cdp"] and left == refusals - 10


def test_wishes_that_wait_are_one_frame() -> None:
    async def wishing() -> int:
        sent = []

        class Instant:
            async def send(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
                sent.append(method)
                await asyncio.sleep(0)
                return {}

        source = frames.PageFrames(Instant())  # type: ignore[arg-type]
        for _ in range(9):
            source.wish()
        await asyncio.sleep(0.01)
        return len(sent)

    assert asyncio.run(wishing()) == 1


@pytest.mark.multiprocess
def test_a_page_that_hangs_in_its_frame_holds_nobody_up(laboratory: Any) -> None:
    site = laboratory.site("<script>onclick = () => requestAnimationFrame(() => { while (true); })</script>")

    async def live() -> None:
        async with BrowserManager(BrowserConfig(browsers=1, pages_per_browser=3, call_timeout_s=4)) as manager:
            hangs, other = [await manager.open_page(site) for _ in range(2)]
            hung = asyncio.ensure_future(hangs.act(CLICK, advance_ms=20))
            for _ in range(20):
                assert (await other.act([MouseMove(5, 5)], advance_ms=20, read="1 + 1")).data == 2
            with pytest.raises(SandboxFailure, match="timeout"):
                await hung
            await hangs.close()
            third = await manager.open_page(site)
            for page in (other, third):
                assert (await page.act([], advance_ms=20, read="1 + 1")).data == 2
            assert manager.stats.failures == {"timeout": 1}

    laboratory.run(live())


@pytest.mark.multiprocess
@pytest.mark.parametrize(("way", "failures"), [(signal.SIGKILL, {}), (signal.SIGSTOP, {"timeout": 1})])
def test_a_gpu_process_that_ends_is_not_noticed_and_one_that_hangs_is_replaced(
    laboratory: Any, way: signal.Signals, failures: dict[str, int]
) -> None:
    site = laboratory.site("<body style='background: #124'>")

    async def live() -> None:
        async with BrowserManager(BrowserConfig(browsers=1, pages_per_browser=2, call_timeout_s=4)) as manager:
            page = await manager.open_page(site)
            launched = manager.browsers.places[0].launched
            assert launched is not None
            (gpu,) = processes(launched.token, "--type=gpu-process")
            os.kill(gpu, way)
            for _ in range(3):
                with contextlib.suppress(SandboxFailure):
                    assert (await page.act(CLICK, advance_ms=20)).pixels[50, 50].tolist() == [17, 34, 68]
            await page.close()
            page = await manager.open_page(site)
            assert (await page.act(CLICK, advance_ms=20)).pixels[50, 50].tolist() == [17, 34, 68]
            assert page.screenshot_path == "frame"
            assert manager.stats.failures == failures and not manager.stats.given_up

    laboratory.run(live())


@pytest.mark.multiprocess
def test_a_browser_each_and_one_that_is_free_is_taken_again(laboratory: Any) -> None:
    site = laboratory.site("")
    canvas = laboratory.site("<canvas></canvas>")

    async def live() -> None:
        async with BrowserManager(BrowserConfig(browsers=2, pages_per_browser=2)) as manager:
            pages = [await manager.open_page(site) for _ in range(3)]
            shared = await manager.open_page(canvas, single_canvas=True)
            assert [len(place.pages) for place in manager.browsers.places] == [1, 1, 1, 1]
            waiting = asyncio.ensure_future(manager.open_page(site))
            await asyncio.sleep(0.3)
            assert not waiting.done()
            launches = manager.stats.launches
            for _ in range(2):
                await pages[1].close()
            again: Page = await waiting
            assert again.screenshot_path == "frame" and manager.stats.launches == launches
            assert manager.stats.pages_open == 4
            assert len(manager.browsers.places[1].pages) == 1
            await shared.close()

    laboratory.run(live())


@pytest.mark.multiprocess
def test_a_chromium_that_makes_no_frames_on_request_is_captured_from(
    laboratory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "FRAME", "HeadlessExperimental.noSuchCommand")
    site = laboratory.site(SLIDE)

    async def live() -> None:
        async with BrowserManager(BrowserConfig(browsers=1, pages_per_browser=2)) as manager:
            pages = [await manager.open_page(site) for _ in range(2)]
            for page in pages:
                await page.start("0", seed=0)
                shown = await page.act(CLICK, advance_ms=100, read="log.at(-1).split(' ')[0]")
                assert shown.data == "transitionend" and page.screenshot_path == "cdp"
            assert manager.stats.browsers == 1 and not manager.stats.failures

    laboratory.run(live())


def test_a_person_who_plays_and_who_debugs_sees_frames(laboratory: Any) -> None:
    page = laboratory.open(
        "<script>let n = 0; const f = () => { n++; __clock.native.requestAnimationFrame(f) }; f()</script>"
    )

    async def frames_within(seconds: float) -> int:
        before = await page.evaluate("n")
        await asyncio.sleep(seconds)
        return await page.evaluate("n") - before

    async def live() -> tuple[int, int, int, int]:
        await page.start("0", seed=0)
        rest = await frames_within(0.3)
        await page.play(1.0)
        played = await frames_within(0.5)
        await page.pause()
        paused = await frames_within(0.3)
        with page.moving():
            return rest, played, paused, await frames_within(0.5)

    rest, played, paused, debugged = laboratory.run(live())
    assert played > 5 and debugged > 5
    assert not laboratory.gives_frames or (rest <= 1 and paused <= 1)


def test_only_the_command_that_makes_a_page_is_changed() -> None:
    made = b'{"id":7,"method":"Target.createTarget","params":{"url":"about:blank","browserContextId":"A"}}\0'
    assert with_frames_on_request(made) == (
        b'{"id": 7, "method": "Target.createTarget", "params": '
        b'{"url": "about:blank", "browserContextId": "A", "enableBeginFrameControl": true}}\0'
    )
    said = b'{"id":8,"method":"Runtime.evaluate","params":{"expression":"\\"method\\":\\"Target.createTarget\\""}}\0'
    assert with_frames_on_request(said) is said


def test_a_page_that_is_never_shown_is_opened_on_another_browser(
    laboratory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chromium did so once in a loaded run of all tests, and not in thousands of pages that were opened for it."""
    wakes: list[Page] = []
    wake = Page.wake

    async def first_never(page: Page) -> None:
        wakes.append(page)
        if len(wakes) == 1:
            raise ProtocolError(screenshots.NOTHING_TO_SHOW)
        await wake(page)

    monkeypatch.setattr(Page, "wake", first_never)

    async def opened() -> None:
        async with BrowserManager(BrowserConfig(browsers=1, pages_per_browser=1)) as manager:
            page = await manager.open_page(laboratory.site("<body style='background: #124'>"))
            assert (await page.start("0", seed=0)).pixels[0, 0].tolist() == [17, 34, 68]
            alone = manager.browsers.places[0].alone
            assert len(wakes) == 2 * alone and manager.stats.pages_open == 1
            assert manager.stats.failures["browser"] == alone

    laboratory.run(opened())
