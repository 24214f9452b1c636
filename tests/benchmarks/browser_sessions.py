"""What a journal and a service cost a step, and what a recovery takes.

    PYTHONPATH=. python tests/benchmarks/browser_sessions.py [--steps 100] [--rounds 5]

Four pages of the maze at 96x96 step at once, 200 ms of virtual time a step: pages of a manager, sessions of this
process with their journals on disk, and sessions of a service over HTTP, in a thread of this process. The three take
turns; figures are medians over the rounds, ratios are to the manager's pages. Then the browser of the sessions is
killed: the time until all four have gone their way again, and what that is for each call of the way.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tars_jax.sandbox.browser import ActsOnPage, BrowserConfig, BrowserManager, MouseDown, MouseUp, OpensPages, Site
from tars_jax.sandbox.browser.service import BrowserClient, PagesKind
from tars_jax.sandbox.browser.sessions import PageSessions
from tars_jax.sandbox.service.api.app import make_app
from tars_jax.sandbox.service.config import Owner, ServiceConfig
from tars_jax.sandbox.sessions.config import SessionsConfig
from tars_jax.tasks.games.catalog import load_game
from tars_jax.web.running import serving

PAGES, SIDE, KEY = 4, 96, "operator-key"
CONFIG = BrowserConfig(browsers=1, pages_per_browser=2 * PAGES, call_timeout_s=120)
READ = "({state: game.state(), verdict: window.verify()})"


async def open_all(opener: OpensPages) -> list[ActsOnPage]:
    game = load_game("maze_path_of_light")
    site = Site(game.site_root, game.index)
    pages = [await opener.open_page(site, single_canvas=True) for _ in range(PAGES)]
    for page in pages:
        await page.start("game.start({seed: 1, level: 1})", seed=1)
    return pages


async def drive(pages: Sequence[ActsOnPage], steps: int) -> float:
    """Milliseconds a step, of all pages at once."""

    async def one(page: ActsOnPage) -> None:
        for number in range(steps):
            x, y = SIDE * (number % 6 + 0.5) / 6, SIDE * (number // 6 % 6 + 0.5) / 6
            await page.act([MouseDown(x, y), MouseUp(x, y)], advance_ms=200, read=READ)

    begin = time.perf_counter()
    await asyncio.gather(*map(one, pages))
    return 1000 * (time.perf_counter() - begin) / (steps * PAGES)


async def measure(address: str, steps: int, rounds: int, folder: Path) -> None:
    async with (
        BrowserManager(CONFIG) as manager,
        PageSessions(manager, folder=folder) as sessions,
        BrowserClient(address, KEY) as client,
    ):
        sides = {
            "pages": await open_all(manager),
            "sessions": await open_all(sessions),
            "service": await open_all(client),
        }
        times: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(rounds):
            for name, pages in sides.items():
                times[name].append(await drive(pages, steps))
        print(f"{'side':<10}{'ms/step':>9}{'least':>9}{'ratio':>7}")
        for name, taken in times.items():
            ratios = [one / base for one, base in zip(taken, times["pages"], strict=True)]
            print(f"{name:<10}{statistics.median(taken):>9.2f}{min(taken):>9.2f}{statistics.median(ratios):>7.2f}")
        launched, run = manager.browsers.places[0].launched, manager.run
        assert launched is not None and run is not None
        calls = sum(session.calls for session in sessions.all_of())
        begin = time.perf_counter()
        run.kill(launched.token)
        await drive(sides["sessions"], 1)
        taken_s = time.perf_counter() - begin
        print(f"recovery   {taken_s:.2f} s for {PAGES} pages and {calls} calls: {1000 * taken_s / calls:.2f} ms a call")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100, help="per page and round")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    sys.setswitchinterval(0.0005)  # client and service are two threads here; by themselves they are two processes
    config = ServiceConfig((Owner("operator", KEY),), port=0)
    with tempfile.TemporaryDirectory() as folder:
        sessions = PageSessions(BrowserManager(CONFIG), SessionsConfig(), Path(folder) / "service")
        with serving(make_app(config, PagesKind(sessions, config)), config, plain=True) as address:
            asyncio.run(measure(address, arguments.steps, arguments.rounds, Path(folder) / "here"))


if __name__ == "__main__":
    main()
