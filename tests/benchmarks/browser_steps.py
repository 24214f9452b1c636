"""What a step costs: one click on the maze, 200 ms of virtual time, the state read, a picture that shows the effect.

    PYTHONPATH=. python tests/benchmarks/browser_steps.py [--pages 1 4 8] [--steps 200] [--side 96]
        [--paths playwright plain cdp frame canvas]

Processor time is of this process and of all its children (driver, relays, browsers); it compares better than steps per
second. "playwright" is what one would write first: mouse.click, evaluate, page.screenshot; the ratio is to it.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable

from tars_jax.sandbox.browser import BrowserConfig, BrowserManager, MouseDown, MouseMove, MouseUp, Page, Site
from tars_jax.tasks.games.catalog import load_game
from tests.benchmarks.peers.turns import processor_ms

START = "game.start({seed: 1, level: 1})"
READ = "({state: game.state(), verdict: window.verify()})"


async def playwright_step(page: Page, x: float, y: float) -> None:
    shown = page.context.pages[0]
    await shown.mouse.click(x, y)
    await shown.evaluate("read => __clock.advance(200).then(() => eval(read))", READ)
    await shown.screenshot()


async def sandbox_step(page: Page, x: float, y: float) -> None:
    await page.act([MouseMove(x, y), MouseDown(x, y), MouseUp(x, y)], advance_ms=200, read=READ)


async def measure(path: str, pages: int, steps: int, side: int) -> tuple[float, float]:
    """(processor ms per step, steps per second) with `pages` pages on two browsers, or on one each with "frame"."""
    game = load_game("maze_path_of_light")
    step: Callable[[Page, float, float], Awaitable[None]] = playwright_step if path == "playwright" else sandbox_step
    config = BrowserConfig(
        width=side,
        height=side,
        pages_per_browser=(pages + 1) // 2,
        screenshot="plain" if path == "playwright" else path,
    )

    async def drive(page: Page, count: int) -> None:
        for number in range(count):
            await step(page, side * ((number % 6) + 0.5) / 6, side * ((number // 6 % 6) + 0.5) / 6)

    async with BrowserManager(config) as manager:
        opened = [await manager.open_page(Site(game.site_root, game.index), single_canvas=True) for _ in range(pages)]
        for page in opened:
            await page.start(START, seed=1)
            await drive(page, 20)
        processor, start = processor_ms(), time.perf_counter()
        await asyncio.gather(*(drive(page, steps) for page in opened))
        seconds = time.perf_counter() - start
        return (processor_ms() - processor) / (steps * pages), steps * pages / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, nargs="+", default=[1, 4, 8])
    parser.add_argument("--steps", type=int, default=200, help="per page")
    parser.add_argument("--side", type=int, default=96)
    parser.add_argument("--paths", nargs="+", default=["playwright", "plain", "cdp", "frame", "canvas"])
    arguments = parser.parse_args()
    print(f"{'path':<12}{'pages':>6}{'ms/step':>9}{'ratio':>7}{'steps/s':>9}{'ratio':>7}")
    for pages in arguments.pages:
        base: tuple[float, float] | None = None
        for path in arguments.paths:
            cost, rate = asyncio.run(measure(path, pages, arguments.steps, arguments.side))
            base = base or (cost, rate)
            print(
                f"{path:<12}{pages:>6}{cost:>9.2f}{base[0] / cost:>7.1f}{rate:>9.0f}{rate / base[1]:>7.1f}", flush=True
            )


if __name__ == "__main__":
    main()
