"""How fast virtual time goes, whether a picture is ever stale, what pages at rest take, and what pages leave in memory.

PYTHONPATH=. python tests/benchmarks/browser_limits.py [--side 320] [--steps 1000] [--pages 1] [--cycles 1000]
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from tars_jax.sandbox.browser import BrowserConfig, BrowserManager, MouseDown, MouseUp, Page, Site
from tests.benchmarks.peers.turns import descendants, processor_ms

BITS = 12
REST_S = 3
HEAD = "<!doctype html><body style='margin:0;overflow:hidden'>"
# a frame counter, drawn as bits from left to right; and a ball that moves
CANVAS = (
    HEAD
    + """<canvas id=c style="display:block"></canvas><script>
  c.width = innerWidth; c.height = innerHeight; const pen = c.getContext('2d', { alpha: false }); let count = 0;
  function draw(t) { pen.fillStyle = '#000'; pen.fillRect(0, 0, c.width, c.height); const w = c.width / 12;
    pen.fillStyle = '#fff';
    for (let bit = 0; bit < 12; bit++) if (count >> bit & 1) pen.fillRect(bit * w, 0, w, 20);
    pen.fillStyle = '#e94'; pen.fillRect(t / 10 % c.width, 40, 20, 20); requestAnimationFrame(draw); }
  draw(0); addEventListener('mousedown', () => { count += 1; });</script>"""
)
STYLES = (
    HEAD
    + """<style>i { position: absolute; top: 0; height: 20px; width: calc(100% / 12) }
  b { position: absolute; top: 40px; width: 20px; height: 20px; background: #e94; animation: go 3s linear infinite }
  @keyframes go { to { left: 100% } }</style><b></b><script>document.body.style.background = '#000'; let count = 0;
  const bits = Array.from({ length: 12 }, (_, bit) => { const one = document.createElement('i');
    one.style.left = `calc(100% / 12 * ${bit})`; document.body.append(one); return one; });
  addEventListener('mousedown', () => { count += 1;
    bits.forEach((one, bit) => { one.style.background = count >> bit & 1 ? '#fff' : '#000'; }); });</script>"""
)


async def staleness(page: Page, steps: int, side: int) -> int:
    """How many pictures did not show the count of the clicks before them."""
    stale = 0
    await page.start("0", seed=0)
    for number in range(1, steps + 1):
        seen = await page.act([MouseDown(5, 50), MouseUp(5, 50)], advance_ms=20)
        bits = seen.pixels[10, side // (2 * BITS) :: side // BITS, 0][:BITS] > 127
        stale += sum(int(bit) << place for place, bit in enumerate(bits)) != number
    return stale


async def speed_and_staleness(
    manager: BrowserManager, site: Site, canvas: bool, steps: int, side: int, pages: int
) -> str:
    opened = [await manager.open_page(site, single_canvas=canvas) for _ in range(pages)]
    stale = sum(await asyncio.gather(*(staleness(page, steps, side) for page in opened)))
    page = opened[0]
    began = time.perf_counter()
    await page.act([], advance_ms=10_000)
    rate = 10 / (time.perf_counter() - began)
    path = page.screenshot_path
    before = processor_ms()
    await asyncio.sleep(REST_S)
    rest = (processor_ms() - before) / 1000 / REST_S
    for each in opened:
        await each.close()
    return f"{path:<8}{steps * pages:>8} steps {stale:>4} stale {rate:>8.1f} times real time {rest:>6.3f} cores at rest"


def megabytes() -> float:
    """Memory of our descendants, each page that several share in equal parts."""
    total = 0
    for pid in descendants():
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        total += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return total / 1024


async def measure(side: int, steps: int, pages: int, cycles: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sites = []
        for name, html in (("canvas", CANVAS), ("styles", STYLES)):
            (Path(folder) / name).mkdir()
            (Path(folder) / name / "index.html").write_text(html)
            sites.append(Site(Path(folder) / name))
        config = BrowserConfig(browsers=1, pages_per_browser=pages, width=side, height=side, call_timeout_s=60)
        for site, canvas in zip(sites, (True, False), strict=True):
            async with BrowserManager(config) as manager:
                print(await speed_and_staleness(manager, site, canvas, steps, side, pages), flush=True)
            async with BrowserManager(config) as manager:
                for cycle in range(cycles + 1):
                    if cycle % max(1, cycles // 10) == 0:
                        print(f"after {cycle:>5} pages {megabytes():>8.0f} MB", flush=True)
                    page = await manager.open_page(site, single_canvas=canvas)
                    await page.act([], advance_ms=20)
                    await page.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=320)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--pages", type=int, default=1, help="at a time, while pictures are looked at")
    parser.add_argument("--cycles", type=int, default=1000)
    arguments = parser.parse_args()
    asyncio.run(measure(arguments.side, arguments.steps, arguments.pages, arguments.cycles))


if __name__ == "__main__":
    main()
