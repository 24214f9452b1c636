"""Deaths below a page: typed, quick, and healed by the next open_page."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.sandbox.browser import (
    BrowserConfig,
    BrowserManager,
    MouseDown,
    MouseMove,
    MouseUp,
    Page,
    SandboxFailure,
    find_executable,
)
from tars_jax.sandbox.browser.processes import is_alive
from tars_jax.sandbox.browser.reaper import marked_processes

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess]
CONFIG = BrowserConfig(browsers=2, pages_per_browser=2, call_timeout_s=2, screenshot="cdp")
AT_FIRST = 2  # launches for four pages


def processes(token: str, part: str, without: str = "no such part") -> list[int]:
    """Ids of the processes of a launch with `part` in their command line."""
    groups = {os.getpgid(pid) for pid in marked_processes(token)}
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # others may end meanwhile
            if folder.name.isdigit() and os.getpgid(int(folder.name)) in groups:
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                if part in command and without not in command:
                    found.append(int(folder.name))
    return found


def browser_process(token: str) -> int:
    """The main process of a launch: it has a profile and is no helper, no relay and no shell script around it."""
    return max(processes(token, "--user-data-dir", without="--type="))


def first_token(manager: BrowserManager) -> str:
    launched = manager._slots[0].launched
    assert launched is not None
    return launched.token


async def works(page: Page) -> None:
    observation = await page.act([MouseDown(5, 5), MouseUp(5, 5)], advance_ms=20, read="1 + 1")
    assert observation.data == 2 and observation.pixels.shape == (96, 96, 3)


def test_time_that_was_asked_for_is_not_a_hang(laboratory: Any) -> None:
    """3 s at rate 1 where a call may take 2; and times that cannot be are refused with their input undelivered."""
    site = laboratory.site("<script>let ticks = 0, downs = 0; setInterval(() => ticks += 1, 100);"
                           "addEventListener('mousedown', () => downs += 1);"
                           "addEventListener('mousemove', (event) => held = event.buttons)</script>")  # fmt: skip

    async def live() -> None:
        async with BrowserManager(CONFIG) as manager:
            page = await manager.open_page(site)
            await page.start("0", seed=0)
            assert (await page.act([], advance_ms=3000, rate=1, read="ticks")).data == 30
            for advance_ms, rate in ((-1, 1), (float("nan"), 1), (float("inf"), 1), (100, 0)):
                with pytest.raises(InputError, match="advance_ms|rate"):
                    await page.act([MouseDown(5, 5)], advance_ms=advance_ms, rate=rate)
            moved = await page.act([MouseMove(6, 6)], advance_ms=20, read="[downs, held]")
            assert moved.data == [0, 0]
            await page.close()

    laboratory.run(live())


async def fails(call: Awaitable[Any], kind: str, within_s: float) -> None:
    begin = time.monotonic()
    with pytest.raises(SandboxFailure) as caught:
        await call
    assert caught.value.kind == kind
    assert time.monotonic() - begin < within_s


@pytest.fixture
def scene(laboratory: Any) -> Iterator[Callable[[Callable[..., Awaitable[None]]], None]]:
    """Runs a test with a manager and four pages: first and third on one browser, second and fourth on the other."""
    site = laboratory.site("<body style='background: #124'>")

    def play(test: Callable[..., Awaitable[None]]) -> None:
        async def run() -> None:
            async with BrowserManager(CONFIG) as manager:
                pages = [await manager.open_page(site) for _ in range(4)]
                await test(manager, pages, lambda: manager.open_page(site))
                for page in pages:
                    await page.close()
                assert manager.stats.pages_open == len(manager._slots[0].pages) + len(manager._slots[1].pages)

        laboratory.run(run())

    yield play


async def replace(manager: BrowserManager, pages: list[Page], indices: list[int], open_page: Any) -> None:
    """Closes the dead pages and opens as many new ones at once; all four pages then work."""
    for index in indices:
        await pages[index].close()
    for index, page in zip(indices, await asyncio.gather(*(open_page() for _ in indices)), strict=True):
        pages[index] = page
    await asyncio.gather(*(works(page) for page in pages))


def test_a_crashed_renderer_takes_one_page(scene: Any) -> None:
    async def crash(manager: BrowserManager, pages: list[Page], open_page: Any) -> None:
        call = asyncio.ensure_future(pages[0].evaluate("new Promise(() => {})"))
        await asyncio.sleep(0.1)
        asyncio.ensure_future(pages[0]._session.send("Page.crash")).add_done_callback(lambda task: task.exception())
        await fails(call, "renderer", 2)
        await fails(pages[0].evaluate("1"), "renderer", 0.1)
        await asyncio.gather(*(works(page) for page in pages[1:]))
        await replace(manager, pages, [0], open_page)
        assert manager.stats.failures == {"renderer": 1} and manager.stats.launches == AT_FIRST

    scene(crash)


def test_a_killed_gpu_process_is_not_noticed(scene: Any) -> None:
    async def kill(manager: BrowserManager, pages: list[Page], open_page: Any) -> None:
        (gpu,) = processes(first_token(manager), "--type=gpu-process")
        os.kill(gpu, signal.SIGKILL)
        for page in pages * 3:
            await works(page)
        assert not manager.stats.failures

    scene(kill)


@pytest.mark.parametrize("victim", ["browser", "relay"])
def test_a_killed_browser_takes_its_own_pages(scene: Any, victim: str) -> None:
    async def kill(manager: BrowserManager, pages: list[Page], open_page: Any) -> None:
        token = first_token(manager)
        call = asyncio.ensure_future(pages[0].evaluate("new Promise(() => {})"))
        await asyncio.sleep(0.1)
        os.kill(browser_process(token) if victim == "browser" else processes(token, "relay.py")[0], signal.SIGKILL)
        await fails(call, "browser", 2)
        await fails(works(pages[2]), "browser", 2)
        await asyncio.gather(works(pages[1]), works(pages[3]))
        await replace(manager, pages, [0, 2], open_page)
        assert manager.stats.failures == {"browser": 2} and manager.stats.launches == AT_FIRST + 1
        assert manager.stats.driver_starts == 1

    scene(kill)


def test_a_killed_driver_is_started_again_once(scene: Any) -> None:
    async def kill(manager: BrowserManager, pages: list[Page], open_page: Any) -> None:
        assert manager._driver is not None
        calls = [asyncio.ensure_future(page.evaluate("new Promise(() => {})")) for page in pages[:2]]
        await asyncio.sleep(0.1)
        os.kill(manager._driver.pid, signal.SIGKILL)
        for call in [*calls, works(pages[2]), works(pages[3])]:
            await fails(call, "driver", 2)
        await replace(manager, pages, [0, 1, 2, 3], open_page)
        assert manager.stats.failures == {"driver": 4}
        assert (manager.stats.driver_starts, manager.stats.launches) == (2, AT_FIRST + 2)

    scene(kill)


def test_a_page_that_hangs_times_out_alone(scene: Any) -> None:
    async def hang(manager: BrowserManager, pages: list[Page], open_page: Any) -> None:
        await fails(pages[0].evaluate("(() => { while (true); })()"), "timeout", 4)
        await asyncio.gather(*(works(page) for page in pages[1:]))
        await replace(manager, pages, [0], open_page)
        assert manager.stats.failures == {"timeout": 1} and manager.stats.launches == AT_FIRST

    scene(hang)


@pytest.mark.parametrize("script", ["while (true);", "window.stop()"])
def test_a_page_that_never_loads_takes_no_other_along(scene: Any, laboratory: Any, script: str) -> None:
    async def load(manager: BrowserManager, pages: list[Page], open_page: Any) -> None:
        await pages[0].close()
        await fails(manager.open_page(laboratory.site(f"<script>{script}</script>")), "timeout", 4)
        await asyncio.gather(*(works(page) for page in pages[1:]))
        pages[0] = await open_page()
        assert not manager.stats.failures and manager.stats.launches == AT_FIRST

    scene(load)


@pytest.mark.parametrize("victim", ["browser", "driver"])
def test_what_no_longer_answers_is_replaced(scene: Any, victim: str) -> None:
    async def stop(manager: BrowserManager, pages: list[Page], open_page: Any) -> None:
        assert manager._driver is not None
        stopped = browser_process(first_token(manager)) if victim == "browser" else manager._driver.pid
        os.kill(stopped, signal.SIGSTOP)
        if victim == "browser":
            await fails(works(pages[0]), "timeout", 4)
            await replace(manager, pages, [0, 2], open_page)
        else:
            await asyncio.gather(*(page.close() for page in pages))  # they need the driver, and wait in vain
            pages[:] = await asyncio.gather(*(open_page() for _ in range(4)))
            await asyncio.gather(*(works(page) for page in pages))
        assert not is_alive(stopped)

    scene(stop)


def test_a_program_that_is_no_chromium_is_an_input_error(tmp_path: Path) -> None:
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\necho 'libnss3.so: no such file' >&2\nexit 127\n")
    program.chmod(0o755)

    async def start() -> None:
        with pytest.raises(
            InputError, match=f"{program} does not run as a Chromium: browser: libnss3.so: no such file"
        ):
            await BrowserManager(BrowserConfig(executable=str(program), call_timeout_s=5)).start()

    asyncio.run(start())


def test_a_launch_that_is_too_slow_costs_no_other_browser(laboratory: Any, tmp_path: Path) -> None:
    program, launched = tmp_path / "chromium", tmp_path / "launched"
    slow = f"[ -e {launched} ] && sleep 60; : >{launched}"
    program.write_text(f'#!/bin/sh\n{slow}; exec {find_executable()} "$@"\n')
    program.chmod(0o755)
    config = BrowserConfig(browsers=2, pages_per_browser=1, call_timeout_s=2, executable=str(program))

    async def launch() -> None:
        async with BrowserManager(config) as manager:
            site = laboratory.site("<body style='background: #124'>")
            page = await manager.open_page(site, single_canvas=True)
            await fails(manager.open_page(site, single_canvas=True), "browser", 3 * 2 * 2)
            await works(page)
            assert manager.stats.driver_starts == 1 and manager.run is not None
            assert not processes(manager.run.token, "sleep 60")

    laboratory.run(launch())


def test_a_closed_manager_lets_nobody_wait(laboratory: Any) -> None:
    site = laboratory.site("")

    async def wait() -> None:
        manager = BrowserManager(BrowserConfig(browsers=1, pages_per_browser=1))
        await manager.start()
        page = await manager.open_page(site)
        waiting = asyncio.ensure_future(manager.open_page(site))
        await asyncio.sleep(0.1)
        await manager.close()
        await manager.close()
        with pytest.raises(RuntimeError, match="not running"):
            await waiting
        with pytest.raises(RuntimeError, match="closed"):
            await page.evaluate("1")
        await page.close()

    laboratory.run(wait())


def test_closing_a_page_ends_its_calls(scene: Any) -> None:
    async def close(manager: BrowserManager, pages: list[Page], open_page: Any) -> None:
        call = asyncio.ensure_future(pages[0].evaluate("new Promise(() => {})"))
        await asyncio.sleep(0.1)
        await pages[0].close()
        with pytest.raises(RuntimeError, match="closed"):
            await call
        with pytest.raises(RuntimeError, match="closed"):
            await pages[0].evaluate("1")
        assert not manager.stats.failures

    scene(close)
