"""The page of everything that moves is the same at every rate, on a busy machine and after any pause."""

from __future__ import annotations

import asyncio
import math
import random
from pathlib import Path
from typing import Any

import pytest

from tars_jax import InputError
from tars_jax.sandbox.browser import MouseDown, MouseUp, Site

pytestmark = pytest.mark.browser
PAGES = Path(__file__).parent / "pages"
DURATION_MS = 450.0
READ = "[counts, log]"


async def watched(laboratory: Any, steps: list[float], rate: float, pauses: random.Random) -> tuple[bytes, Any]:
    """The last picture, and what had run by then, of a fresh page that is led through `steps` ms."""
    page = await laboratory.manager.open_page(Site(PAGES / "clock"))
    await page.start("0", seed=3)
    for step in steps:
        await asyncio.sleep(pauses.uniform(0, 0.03))
        seen = await page.act([], advance_ms=step, read=READ, rate=rate)
    await page.close()
    return seen.png, seen.data


def test_frames_are_equal_at_rates_one_and_eight_and_stepped(laboratory: Any) -> None:
    pauses = random.Random()
    odd = [37.0] * 12 + [DURATION_MS - 12 * 37.0]

    async def run() -> list[tuple[bytes, Any]]:
        at_once = await watched(laboratory, [DURATION_MS], math.inf, pauses)
        at_rates = [await watched(laboratory, [DURATION_MS], rate, pauses) for rate in (1.0, 8.0)]
        return [at_once, *at_rates, await watched(laboratory, odd, math.inf, pauses)]

    first, *others = laboratory.run(run())
    for other in others:
        assert other[1] == first[1]
        assert other[0] == first[0]
    counts, log = first[1]
    of_timers = {"timeout": 1, "interval": 15, "chain": 8, "frame": 27, "idle": 5, "task": 1, "signal": 1, "inner": 10}
    of_work = {"message": 3, "fetch": 2, "worker found its files": 1, "worker has the same time": 2, "worker tick": 9}
    of_others = {"nested worker": 18, "other origin": 6, "tone": 5, "resize": 2, "animationiteration css": 1}
    for expected in (of_timers, of_work, of_others):
        assert {name: counts.get(name) for name in expected} == expected
    assert [float(line.split()[0]) for line in log] == sorted(float(line.split()[0]) for line in log)


def test_time_that_a_person_lets_run_stands_again(laboratory: Any) -> None:
    page = laboratory.open("<script>window.n = 0; setInterval(() => { n += 1; }, 10)</script>")

    async def watch() -> list[float]:
        await page.start("0", seed=0)
        await page.play(4)
        while await page.evaluate("n") < 50:
            await asyncio.sleep(0.01)
        await page.pause()
        first = await page.evaluate("[n, performance.now()]")
        await asyncio.sleep(0.05)
        assert await page.evaluate("[n, performance.now()]") == first
        after = (await page.act([], advance_ms=100, read="[n, performance.now()]")).data
        return [after[0] - first[0], after[1] - first[1]]

    assert laboratory.run(watch()) == [10, 100]
    with pytest.raises(InputError, match="rate must be .*; got 0"):
        laboratory.run(page.play(0))


def test_time_goes_on_over_a_navigation(laboratory: Any, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<!doctype html><a id=a href=next.html>next</a>")
    (tmp_path / "next.html").write_text("""<!doctype html><script>
        window.ticks = 0; setInterval(() => { ticks += 1; }, 10); window.chance = Math.random();</script>""")
    read = "[document.URL.slice(-9), Date.now() % 100000, performance.now(), window.ticks, window.chance]"

    async def follow(leave: str) -> Any:
        page = await laboratory.manager.open_page(Site(tmp_path))
        await page.start("Math.random()", seed=5)
        await page.act([], advance_ms=100)
        x, y = await page.evaluate("(({x, y}) => [x + 3, y + 3])(a.getBoundingClientRect())")
        await page.evaluate(leave)
        click = [MouseDown(x, y), MouseUp(x, y)] if leave == "0" else []
        return (await page.act(click, advance_ms=200, read=read)).data

    clicked, again = laboratory.run(follow("0")), laboratory.run(follow("0"))
    assert clicked == again and clicked[:4] == ["next.html", 300, 200, 20]
    timed = laboratory.run(follow("void setTimeout(() => { location.href = 'next.html' }, 50)"))
    assert timed == ["next.html", 300, 150, 15, clicked[4]]
