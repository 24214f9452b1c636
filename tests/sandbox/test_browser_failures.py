"""Deaths below a page: typed, quick, and healed by the next open_page."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import re
import signal
import subprocess
import sys
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
    PageError,
    SandboxFailure,
    find_executable,
)
from tars_jax.sandbox.browser.connection import DevToolsSession, ProtocolError
from tars_jax.sandbox.browser.processes import is_alive
from tars_jax.sandbox.browser.reaper import marked_processes
from tests.sandbox.conftest import crash_renderer
from tests.waiting import PATIENCE_S

pytestmark = [pytest.mark.browser, pytest.mark.multiprocess]
CONFIG = BrowserConfig(browsers=2, pages_per_browser=2, call_timeout_s=4, screenshot="cdp")
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
    launched = manager.browsers.places[0].launched
    assert launched is not None
    return launched.token


async def works(page: Page) -> None:
    observation = await page.act([MouseDown(5, 5), MouseUp(5, 5)], advance_ms=20, read="1 + 1")
    assert observation.data == 2 and observation.pixels.shape == (96, 96, 3)


def test_time_that_was_asked_for_is_not_a_hang(laboratory: Any) -> None:
    """5 s at rate 1 where a call may take 4; and times that cannot be are refused with their input undelivered."""
    site = laboratory.site("<script>let ticks = 0, downs = 0; setInterval(() => ticks += 1, 100);"
                           "addEventListener('mousedown', () => downs += 1);"
                           "addEventListener('mousemove', (event) => held = event.buttons)</script>")  # fmt: skip

    async def live() -> None:
        async with BrowserManager(CONFIG) as manager:
            page = await manager.open_page(site)
            await page.start("0", seed=0)
            assert (await page.act([], advance_ms=5000, rate=1, read="ticks")).data == 50
            for advance_ms, rate in ((-1, 1), (float("nan"), 1), (float("inf"), 1), (100, 0)):
                with pytest.raises(InputError, match="advance_ms|rate"):
                    await page.act([MouseDown(5, 5)], advance_ms=advance_ms, rate=rate)
            moved = await page.act([MouseMove(6, 6)], advance_ms=20, read="[downs, held]")
            assert moved.data == [0, 0]
            await page.close()

    laboratory.run(live())


async def fails(call: Awaitable[Any], kind: str) -> None:
    """Nobody waits for what has gone: calls here may take 4 s, on a machine that does nothing else."""
    with pytest.raises(SandboxFailure) as caught:
        async with asyncio.timeout(PATIENCE_S):
            await call
    assert caught.value.kind == kind


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
                assert manager.stats.pages_open == len(manager.browsers.places[0].pages) + len(
                    manager.browsers.places[1].pages
                )

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
        await crash_renderer(pages[0])
        await fails(call, "renderer")
        await fails(pages[0].evaluate("1"), "renderer")
        await asyncio.gather(*(works(page) for page in pages[1:]))
        await replace(manager, pages, [0], open_page)
        assert manager.stats.failures == {"renderer": 1} and manager.stats.launches == AT_FIRST

    scene(crash)


@pytest.mark.parametrize("victim", ["browser", "relay"])
def test_a_killed_browser_takes_its_own_pages(scene: Any, victim: str) -> None:
    async def kill(manager: BrowserManager, pages: list[Page], open_page: Any) -> None:
        token = first_token(manager)
        call = asyncio.ensure_future(pages[0].evaluate("new Promise(() => {})"))
        await asyncio.sleep(0.1)
        os.kill(browser_process(token) if victim == "browser" else processes(token, "relay.py")[0], signal.SIGKILL)
        await fails(call, "browser")
        await fails(works(pages[2]), "browser")
        await asyncio.gather(works(pages[1]), works(pages[3]))
        await replace(manager, pages, [0, 2], open_page)
        assert manager.stats.failures == {"browser": 2} and manager.stats.launches == AT_FIRST + 1
        assert manager.stats.driver_starts == 1

    scene(kill)


def test_a_killed_driver_is_started_again_once(scene: Any) -> None:
    async def kill(manager: BrowserManager, pages: list[Page], open_page: Any) -> None:
        assert manager.browsers.driver is not None
        calls = [asyncio.ensure_future(page.evaluate("new Promise(() => {})")) for page in pages[:2]]
        await asyncio.sleep(0.1)
        os.kill(manager.browsers.driver.pid, signal.SIGKILL)
        for call in [*calls, works(pages[2]), works(pages[3])]:
            await fails(call, "driver")
        await replace(manager, pages, [0, 1, 2, 3], open_page)
        assert manager.stats.failures == {"driver": 4}
        assert (manager.stats.driver_starts, manager.stats.launches) == (2, AT_FIRST + 2)

    scene(kill)


def test_a_page_that_hangs_times_out_alone(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the browser has nothing to show of the next page yet, as Chromium says at times on a busy machine."""
    send = DevToolsSession.send
    refused: list[str] = []

    async def sometimes(self: DevToolsSession, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        if method == "Page.captureScreenshot" and len(refused) < 2:
            refused.append(method)
            raise ProtocolError("Unable to capture screenshot")
        return await send(self, method, params)

    async def hang(manager: BrowserManager, pages: list[Page], open_page: Any) -> None:
        await fails(pages[0].evaluate("(() => { while (true); })()"), "timeout")
        await asyncio.gather(*(works(page) for page in pages[1:]))
        monkeypatch.setattr(DevToolsSession, "send", sometimes)
        await replace(manager, pages, [0], open_page)
        assert len(refused) == 2
        assert manager.stats.failures == {"timeout": 1} and manager.stats.launches == AT_FIRST

    scene(hang)


@pytest.mark.parametrize("script", ["while (true);", pytest.param("window.stop()", marks=pytest.mark.full)])
@pytest.mark.full
def test_a_page_that_never_loads_takes_no_other_along(scene: Any, laboratory: Any, script: str) -> None:
    async def load(manager: BrowserManager, pages: list[Page], open_page: Any) -> None:
        await pages[0].close()
        await fails(manager.open_page(laboratory.site(f"<script>{script}</script>")), "timeout")
        await asyncio.gather(*(works(page) for page in pages[1:]))
        pages[0] = await open_page()
        assert not manager.stats.failures and manager.stats.launches == AT_FIRST

    scene(load)


@pytest.mark.parametrize("victim", ["browser", pytest.param("driver", marks=pytest.mark.full)])
def test_what_no_longer_answers_is_replaced(scene: Any, victim: str) -> None:
    async def stop(manager: BrowserManager, pages: list[Page], open_page: Any) -> None:
        assert manager.browsers.driver is not None
        stopped = browser_process(first_token(manager)) if victim == "browser" else manager.browsers.driver.pid
        os.kill(stopped, signal.SIGSTOP)
        if victim == "browser":
            await fails(works(pages[0]), "timeout")
            await replace(manager, pages, [0, 2], open_page)
        else:
            await asyncio.gather(*(page.close() for page in pages))  # they need the driver, and wait in vain
            pages[:] = await asyncio.gather(*(open_page() for _ in range(4)))
            await asyncio.gather(*(works(page) for page in pages))
        assert not is_alive(stopped)

    scene(stop)


def test_a_driver_that_works_is_not_stuck(laboratory: Any) -> None:
    async def stop() -> None:
        driver = laboratory.manager.browsers.driver
        assert driver is not None and not await driver.is_stuck(PATIENCE_S)
        os.kill(driver.pid, signal.SIGSTOP)
        assert await driver.is_stuck(0.2)
        os.kill(driver.pid, signal.SIGCONT)
        assert not await driver.is_stuck(PATIENCE_S)

    laboratory.run(stop())


@pytest.mark.full
def test_a_network_process_that_hangs_takes_its_browser_along(scene: Any) -> None:
    """The main process answers, and only a page that wants the network waits in vain."""

    async def stop(manager: BrowserManager, pages: list[Page], open_page: Any) -> None:
        token = first_token(manager)
        for process in processes(token, "--type=utility"):
            os.kill(process, signal.SIGSTOP)
        await pages[0].close()
        pages[0] = await open_page()
        await fails(works(pages[2]), "browser")
        await replace(manager, pages, [2], open_page)
        assert first_token(manager) != token and manager.stats.launches == AT_FIRST + 1

    scene(stop)


def test_a_renderer_killed_as_it_starts_costs_an_attempt(laboratory: Any) -> None:
    manager, part = laboratory.manager, "--type=renderer"
    site = laboratory.site("<body style='background: #124'>")

    async def kill() -> None:
        before, launches = set(processes(manager.run.token, part)), manager.stats.launches
        opening = asyncio.ensure_future(manager.open_page(site))
        while not (started := set(processes(manager.run.token, part)) - before) and not opening.done():
            await asyncio.sleep(0.002)
        for process in started:
            os.kill(process, signal.SIGKILL)
        await works(await opening)
        assert manager.stats.launches <= launches + 1  # its browser goes on

    laboratory.run(kill())


@pytest.mark.parametrize("dies", [True, False])
def test_an_internal_error_is_a_death_where_one_follows(
    laboratory: Any, dies: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = laboratory.open("")
    healthy = page.connection.send

    async def send(method: str, params: Any = None, session: str | None = None) -> Any:
        if session is None:  # the manager's watch asks the browser, over the same connection
            return await healthy(method, params)
        if dies:
            asyncio.get_running_loop().call_later(0.05, page.fail, "renderer", "it crashed")
        raise ProtocolError("Internal error")

    monkeypatch.setattr(page.connection, "send", send)
    with pytest.raises(SandboxFailure if dies else PageError):
        laboratory.run(page.evaluate("1"))


async def kill_drivers(manager: BrowserManager, count: float) -> None:
    """Kills the first drivers of a manager as they start."""
    killed: set[int] = set()
    while len(killed) < count:
        pid = manager.run.child() if manager.run else None
        if pid and pid not in killed:
            killed.add(pid)
            os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("count", [2, math.inf])
def test_a_driver_killed_as_it_starts_is_started_again(count: float) -> None:
    async def start() -> None:
        manager = BrowserManager(BrowserConfig())
        killer = asyncio.ensure_future(kill_drivers(manager, count))
        try:
            if count == 2:
                await manager.start()
                assert manager.stats.driver_starts == 3 and manager.stats.browsers == 1
            else:
                with pytest.raises(InputError, match="Playwright's driver does not run: driver: it"):
                    await manager.start()
        finally:
            killer.cancel()
            await manager.close()

    asyncio.run(start())


START = """
import asyncio, sys
from tars_jax import InputError
from tars_jax.sandbox.browser import BrowserConfig, BrowserManager
try:
    asyncio.run(BrowserManager(BrowserConfig(executable=sys.argv[1])).start())
except InputError as error:
    print(error, file=sys.stderr)
"""
DEAD = "does not run as a Chromium: browser: "


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("echo 'libnss3.so: no such file' >&2; exit 127", DEAD + "libnss3.so: no such file"),
        (
            "echo '[12/1.2:ERROR:zygote.cc:130] No usable sandbox! If this is Debian, do. See.' >&2; kill -TRAP $$",
            DEAD + "No usable sandbox; allow user namespaces, .* or set TARS_JAX_CHROMIUM_SANDBOX=0",
        ),
        ("exit 3", DEAD + "it ended with exit code 3"),
        pytest.param("kill -KILL $$", DEAD + "it ended with signal SIGKILL", marks=pytest.mark.full),
    ],
)
@pytest.mark.first(1)
def test_a_program_that_is_no_chromium_says_why_in_one_line(tmp_path: Path, script: str, sentence: str) -> None:
    """And nothing else comes after it, from asyncio for instance."""
    program = tmp_path / "chromium"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    done = subprocess.run([sys.executable, "-c", START, program], capture_output=True, text=True, check=True)
    assert re.fullmatch(f"{program} {sentence}.*\n", done.stderr)


@pytest.mark.full
def test_a_launch_that_is_too_slow_costs_no_other_browser(laboratory: Any, tmp_path: Path) -> None:
    program, launched = tmp_path / "chromium", tmp_path / "launched"
    slow = f"[ -e {launched} ] && sleep 60; : >{launched}"
    program.write_text(f'#!/bin/sh\n{slow}; exec {find_executable()} "$@"\n')
    program.chmod(0o755)
    config = BrowserConfig(browsers=2, pages_per_browser=1, call_timeout_s=4, executable=str(program))

    async def launch() -> None:
        async with BrowserManager(config) as manager:
            site = laboratory.site("<body style='background: #124'>")
            page = await manager.open_page(site, single_canvas=True)
            await fails(manager.open_page(site, single_canvas=True), "browser")
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


def test_closing_a_page_ends_its_calls(laboratory: Any) -> None:
    page, stats = laboratory.open(""), laboratory.manager.stats

    async def close() -> None:
        failures = stats.failures.total()
        call = asyncio.ensure_future(page.evaluate("new Promise(() => {})"))
        await asyncio.sleep(0.1)
        await page.close()
        with pytest.raises(RuntimeError, match="closed"):
            await call
        with pytest.raises(RuntimeError, match="closed"):
            await page.evaluate("1")
        assert stats.failures.total() == failures

    laboratory.run(close())
