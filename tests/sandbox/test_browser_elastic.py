"""How many browsers run: the decisions, and their carrying out by a manager with real ones."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager, elastic
from tars_jax.sandbox.browser.elastic import Load, is_surplus, place_for_page
from tars_jax.sandbox.browser.reaper import marked_processes

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
    assert place_for_page([grown, Load(3), Load(3)], fixed, 9000) is None
    assert place_for_page([Load(0, memory_mb=1200), Load(3)], fixed, 9000) == 0


def test_only_a_further_browser_that_is_idle_goes() -> None:
    assert is_surplus(Load(0, idle_s=31), 3, CONFIG)
    assert not is_surplus(Load(0, idle_s=31), 2, CONFIG)
    assert not is_surplus(Load(0, idle_s=29), 3, CONFIG)
    assert not is_surplus(Load(1, idle_s=31), 3, CONFIG)


def test_impossible_numbers_of_browsers() -> None:
    with pytest.raises(InputError, match=r"browser\.max_browsers is 1; it takes 0 or"):
        BrowserConfig(browsers=2, max_browsers=1)
    with pytest.raises(InputError, match=r"browser\.health_s is 0"):
        BrowserConfig(health_s=0)


@pytest.mark.browser
@pytest.mark.multiprocess
def test_browsers_come_and_go_with_the_pages(laboratory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    site = laboratory.site("<body style='background: #124'>")
    config = BrowserConfig(
        browsers=1, pages_per_browser=1, max_browsers=2, idle_browser_s=0.3, health_s=0.05, call_timeout_s=2
    )
    memory = [float("inf")]
    monkeypatch.setattr("tars_jax.sandbox.browser.manager.free_memory_mb", lambda: memory[0])

    async def until(condition: Any) -> None:
        async with asyncio.timeout(8):
            while not condition():
                await asyncio.sleep(0.02)

    async def live() -> None:
        async with BrowserManager(config) as manager:
            first = await manager.open_page(site)
            memory[0] = 100.0
            waiting = asyncio.ensure_future(manager.open_page(site))
            await asyncio.sleep(0.2)
            assert not waiting.done()
            memory[0] = 1e6
            second = await waiting  # the watch has seen that there is memory now
            assert manager.stats.browsers == 2 and elastic.free_memory_mb() > 0
            extra = manager._slots[1].launched
            assert extra is not None
            await until(lambda: manager._slots[0].memory_mb > 20)
            await second.close()
            await until(lambda: len(manager._slots) == 1)
            assert (manager.stats.browsers, manager.stats.retired, manager.stats.failures) == (1, 1, {})
            await until(lambda: not marked_processes(extra.token))
            hung = manager._slots[0].launched
            assert hung is not None
            for pid in marked_processes(hung.token):
                os.kill(pid, signal.SIGSTOP)
            await until(lambda: first.failure is not None)  # nobody called: the watch noticed
            await first.close()
            third = await manager.open_page(site)
            manager._slots[0].memory_mb = 1e6
            monkeypatch.setattr("tars_jax.sandbox.browser.manager.browser_memory_mb", lambda token: 1e6)
            grown = manager._slots[0].launched
            await third.close()
            await until(lambda: manager._slots[0].launched is not grown)
            assert manager.stats.retired == 2

    laboratory.run(live())
