"""How many browsers run: the decisions, and their carrying out by a manager with real ones."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager, autoscaling
from tars_jax.sandbox.browser.autoscaling import Load, is_surplus, place_for_page
from tars_jax.sandbox.browser.reaper import marked_processes
from tests.waiting import until

CONFIG = BrowserConfig(browsers=2, pages_per_browser=3, max_browsers=4, reserve_mb=500, browser_memory_mb=1000)


@pytest.mark.parametrize(
    ("taken", "free_mb", "place"),
    [
        ([0, 0], 9000, 0),
        ([2, 1], 9000, 1),
        ([3, 3], 9000, 2),
        ([3, 3], 400, None),
        ([3, 2], 400, 1),
        ([3, 3, 3, 3], 9000, None),
    ],
)
def test_the_emptiest_place_takes_a_page_and_a_further_browser_starts_when_all_are_full(
    taken: list[int], free_mb: float, place: int | None
) -> None:
    assert place_for_page([Load(count) for count in taken], CONFIG, free_mb) == place


def test_a_browser_that_grew_too_large_waits_for_its_last_page() -> None:
    grown = Load(1, memory_mb=1200)
    assert place_for_page([grown, Load(2)], CONFIG, 9000) == 1
    fixed = dataclasses.replace(CONFIG, max_browsers=0)
    assert place_for_page([grown, Load(3)], fixed, 9000) == 2  # another one stands in for it
    assert place_for_page([grown, Load(3)], fixed, 400) is None  # with memory for it
    assert place_for_page([grown, Load(3), Load(3)], fixed, 9000) is None
    assert place_for_page([Load(0, memory_mb=1200), Load(3)], fixed, 9000) == 0


@pytest.mark.parametrize(
    ("loads", "free_mb", "alone", "place"),
    [
        ([Load(0), Load(0)], 0, True, 0),
        ([Load(1, alone=True), Load(0)], 0, True, 1),
        ([Load(1, alone=True), Load(1, alone=True)], 0, True, 2),  # up to six pages are what the two are for
        ([Load(1, alone=True), Load(1, alone=True)], 0, False, 2),
        ([Load(1, alone=True), Load(0, alone=True), Load(0)], 0, True, 1),  # one that runs, not one to be started
        ([Load(0, alone=False), Load(0, alone=False)], 0, True, 2),  # idle ones of the other kind are in nobody's way
        ([Load(3, alone=False), Load(2, alone=False)], 0, True, 2),
        ([Load(1, alone=True)] * 6, 9000, True, 6),
        ([Load(1, alone=True)] * 6, 400, True, None),
        ([Load(1, alone=True)] * 12, 9000, True, None),
        ([Load(1, alone=True)] * 3 + [Load(2, alone=False)], 0, False, 3),
        ([Load(1, alone=True)] * 12 + [Load(0, alone=False)], 9000, False, None),
    ],
)
def test_a_page_that_has_to_be_alone(loads: list[Load], free_mb: float, alone: bool, place: int | None) -> None:
    assert place_for_page(loads, CONFIG, free_mb, alone=alone) == place


def test_only_a_further_browser_that_is_idle_goes() -> None:
    assert is_surplus(Load(0, idle_s=31), 3, CONFIG)
    assert not is_surplus(Load(0, idle_s=31), 2, CONFIG)
    assert not is_surplus(Load(0, idle_s=29), 3, CONFIG)
    assert not is_surplus(Load(1, idle_s=31), 3, CONFIG)


def test_impossible_numbers_of_browsers() -> None:
    with pytest.raises(InputError, match=r"browser\.max_browsers must be 0 or browser.browsers or more; got 1"):
        BrowserConfig(browsers=2, max_browsers=1)
    with pytest.raises(InputError, match=r"browser\.health_s must be .*; got 0"):
        BrowserConfig(health_s=0)


@pytest.mark.browser
@pytest.mark.multiprocess
def test_browsers_come_and_go_with_the_pages(laboratory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    site = laboratory.site("<body style='background: #124'>")
    config = BrowserConfig(
        browsers=1, pages_per_browser=1, max_browsers=2, idle_browser_s=0.3, health_s=0.05, call_timeout_s=4
    )
    memory = [float("inf")]
    monkeypatch.setattr("tars_jax.sandbox.browser.manager.free_memory_mb", lambda: memory[0])

    async def live() -> None:
        async with BrowserManager(config) as manager:
            first = await manager.open_page(site)
            memory[0] = 100.0
            waiting = asyncio.ensure_future(manager.open_page(site))
            await asyncio.sleep(0.2)
            assert not waiting.done()
            memory[0] = 1e6
            second = await waiting  # the watch has seen that there is memory now
            assert manager.stats.browsers == 2 and autoscaling.free_memory_mb() > 0
            extra = manager.browsers.places[1].launched
            assert extra is not None
            await until(lambda: manager.browsers.places[0].memory_mb > 20)
            await second.close()
            await until(lambda: len(manager.browsers.places) == 1)
            assert (manager.stats.browsers, manager.stats.retired, manager.stats.failures) == (1, 1, {})
            await until(lambda: not marked_processes(extra.token))
            hung = manager.browsers.places[0].launched
            assert hung is not None
            for pid in marked_processes(hung.token):
                os.kill(pid, signal.SIGSTOP)
            await until(lambda: first.failure is not None)  # nobody called: the watch noticed
            await first.close()
            third = await manager.open_page(site)
            manager.browsers.places[0].memory_mb = 1e6
            monkeypatch.setattr("tars_jax.sandbox.browser.browsers.browser_memory_mb", lambda token: 1e6)
            grown = manager.browsers.places[0].launched
            await third.close()
            await until(lambda: manager.browsers.places[0].launched is not grown)
            assert manager.stats.retired == 2

    laboratory.run(live())


STILL = "<body style='margin:0; background:#135'><canvas width=96 height=96 style='display:block'></canvas>" + (
    "<script>document.querySelector('canvas').getContext('2d', {alpha: false}).fillRect(9, 9, 30, 30);</script>"
)


def ticks_within(seconds: float, page: Any, laboratory: Any) -> int:
    """How many frames the browser of a page begins while nothing happens."""

    async def count() -> int:
        session = await page.connection.attach_to_browser()
        ended = asyncio.Event()
        ticks = 0

        def heard(event: dict[str, Any] | None) -> None:
            nonlocal ticks
            if event is not None and event["method"] == "Tracing.dataCollected":
                names = [traced["name"] for traced in event["params"]["value"]]
                ticks += names.count("DelayBasedBeginFrameSource::OnTimerTick")
            elif event is not None and event["method"] == "Tracing.tracingComplete":
                ended.set()

        page.connection.listen(session.id, heard)
        await session.send("Tracing.start", {"traceConfig": {"includedCategories": ["viz"]}})
        await asyncio.sleep(seconds)
        await session.send("Tracing.end")
        await ended.wait()
        return ticks

    return laboratory.run(count())


@pytest.mark.browser
def test_the_kinds_of_browsers_show_the_same_and_only_captured_pages_cost_frames_at_rest(laboratory: Any) -> None:
    asking = BrowserManager(BrowserConfig(browsers=2, pages_per_browser=1))
    steady = BrowserManager(BrowserConfig(browsers=1, pages_per_browser=1, screenshot="cdp"))

    async def opened(manager: BrowserManager, canvas: bool) -> tuple[Any, bytes]:
        page = await manager.open_page(laboratory.site(STILL), single_canvas=canvas)
        shown = await page.start("0", seed=0)
        return page, await page.capture() if canvas else shown.png

    laboratory.run(asking.start())
    laboratory.run(steady.start())
    try:
        read_back, drawn = laboratory.run(opened(asking, canvas=True))
        asked, drawn_when_asked = laboratory.run(opened(asking, canvas=False))
        captured, drawn_whole = laboratory.run(opened(steady, canvas=False))
        assert [page.screenshot_path for page in (read_back, asked, captured)] == ["canvas", "frame", "cdp"]
        assert drawn == drawn_when_asked == drawn_whole
        assert ticks_within(0.5, read_back, laboratory) <= 2 and ticks_within(0.5, asked, laboratory) <= 2
        assert ticks_within(0.5, captured, laboratory) > 5
        assert asking.stats.launches == 2 and asking.stats.browsers == 2  # the first was of the right kind
    finally:
        laboratory.run(asking.close())
        laboratory.run(steady.close())
