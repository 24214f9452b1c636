"""What an act costs that waits for frames of the browser: asked for, and from a display of 60 Hz (captureScreenshot).

    PYTHONPATH=. python tests/benchmarks/frame_waits.py [--acts 20] [--turns 3] [--pages 4]

One page with a CSS animation and a transition at each click; the two kinds of browsers take turns, and the median of
the turns is printed. Then the memory of as many pages of each kind, with their browsers.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
import tempfile
import time
from pathlib import Path

from tars_jax.sandbox.browser import (
    BrowserConfig,
    BrowserManager,
    InputEvent,
    MouseDown,
    MouseMove,
    MouseUp,
    Page,
    Site,
    Wheel,
)
from tests.benchmarks.browser_limits import megabytes

PATHS = ("cdp", "frame")
SIDE = 320
PAGE = """<!doctype html><body style="margin: 0; height: 3000px"><style>
  p { position: absolute; left: 0; width: 90px; height: 90px; background: #257 }
  #turns { animation: turn 5s infinite linear } #slides { top: 150px; transition: left 100ms }
  @keyframes turn { to { left: 200px } }</style><p id=turns></p><p id=slides></p><script>
  let x = 0; addEventListener('click', () => { slides.style.left = `${x += 5}px`; });</script>"""


def acts(number: int) -> dict[str, list[InputEvent]]:
    x, y = 10 + number, 50
    return {
        "nothing": [],
        "move": [MouseMove(x, y)],
        "click": [MouseMove(x, y), MouseDown(x, y), MouseUp(x, y)],
        "wheel": [Wheel(x, y, 0, 20)],
    }


async def turn(page: Page, count: int) -> dict[str, float]:
    """Seconds an act, by its name."""
    await page.start("0", seed=0)
    seconds = {}
    for name in acts(0):
        began = time.perf_counter()
        for number in range(count):
            await page.act(acts(number)[name], advance_ms=0)
        seconds[name] = (time.perf_counter() - began) / count
    return seconds


async def measure(count: int, turns: int, pages: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "index.html").write_text(PAGE)
        site = Site(Path(folder))
        configs = {
            path: BrowserConfig(width=SIDE, height=SIDE, browsers=1, pages_per_browser=pages, screenshot=path)
            for path in PATHS
        }
        async with contextlib.AsyncExitStack() as stack:
            opened = {}
            for path, config in configs.items():
                manager = await stack.enter_async_context(BrowserManager(config))
                opened[path] = await manager.open_page(site)
                await turn(opened[path], 2)
            taken: dict[str, list[dict[str, float]]] = {path: [] for path in PATHS}
            for _ in range(turns):
                for path in PATHS:
                    taken[path].append(await turn(opened[path], count))
        print(f"{'act':<9}{'cdp ms':>8}{'frame ms':>10}{'ratio':>7}")
        for name in acts(0):
            slow, fast = (statistics.median(one[name] for one in taken[path]) * 1000 for path in PATHS)
            print(f"{name:<9}{slow:>8.1f}{fast:>10.1f}{slow / fast:>7.1f}")
        for path, config in configs.items():
            async with BrowserManager(config) as manager:
                held = []
                for _ in range(pages):
                    held.append(await manager.open_page(site))
                    await held[-1].act([], advance_ms=20)
                    if len(held) in (1, pages):
                        print(f"{path:<6}{len(held):>3} pages {megabytes():>6.0f} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--acts", type=int, default=20, help="of each sort in a turn")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--pages", type=int, default=4, help="whose memory is told")
    arguments = parser.parse_args()
    asyncio.run(measure(arguments.acts, arguments.turns, arguments.pages))


if __name__ == "__main__":
    main()
