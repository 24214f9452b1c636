"""The same seed and the same actions give the same bytes, whatever the machine does meanwhile."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import numpy as np
import pytest

from tars_jax.sandbox.browser import BrowserConfig, BrowserManager, KeyDown, KeyUp, MouseDown, MouseMove, MouseUp, Site

pytestmark = pytest.mark.browser

CANVAS = """<body style="margin:0"><canvas id=c width=96 height=96 style="display:block"></canvas><script>
  const context = c.getContext('2d', {alpha: false}); let dots = [], clicks = 0;
  function draw(t) { context.fillStyle = `hsl(${t / 20 % 360} 50% 30%)`; context.fillRect(0, 0, 96, 96);
    for (const [x, y, born] of dots) { context.fillStyle = '#fff'; context.beginPath();
      context.arc(x, y, 2 + (t - born) / 100 % 9, 0, 7); context.fill(); } }
  (function loop(t) { draw(t); requestAnimationFrame(loop); })(0);
  setInterval(() => dots.push([Math.random() * 96, Math.random() * 96, performance.now()]), 130);
  addEventListener('mousedown', (event) => {
    clicks += 1; dots.push([event.clientX, event.clientY, event.timeStamp]); });
  window.game = {canvas: c, start() { dots = []; clicks = 0; draw(0); }};</script>"""
TIMERS = """<style>body { margin: 0; font: 20px monospace } </style><p id=out></p><input id=field><script>
  window.start = () => { out.textContent = field.value = ''; field.focus(); };
  setInterval(() => { out.textContent = Date.now() % 1e6 + ' ' + Math.random().toFixed(6); }, 70);</script>"""
STYLES = """<style>body { margin: 0; background: #223 }
  div { width: 20px; height: 20px; position: absolute; background: #e94 }
  @keyframes turn { to { transform: translate(60px, 50px) rotate(270deg) } }
  #a { animation: turn 900ms ease-in-out infinite alternate } #b { transition: all 600ms; top: 60px }
  #b.on { left: 70px; background: #3af } #c { animation: turn 400ms 1 } div:hover { outline: 3px solid white }</style>
  <div id=a></div><div id=b></div><div id=c></div><script>
  c.addEventListener('animationend', () => { c.style.background = '#0f0'; });
  addEventListener('mousedown', () => b.classList.toggle('on'));
  window.start = () => { b.classList.remove('on'); for (const one of document.getAnimations()) one.currentTime = 0; };
  </script>"""


async def episode(page: Any, start: str, seed: int, pauses: random.Random) -> list[bytes]:
    """Screenshots of 16 steps, with real time of random length between them."""
    shown = [(await page.start(start, seed=seed)).png]
    acts = random.Random(seed)
    for _ in range(16):
        await asyncio.sleep(pauses.uniform(0, 0.04))
        x, y = acts.randrange(96), acts.randrange(96)
        events = [MouseMove(x, y), MouseDown(x, y), MouseUp(x, y), KeyDown("a"), KeyUp("a")]
        shown.append((await page.act(events, advance_ms=acts.choice((0, 33, 200, 250)))).png)
    return shown


@pytest.mark.parametrize(
    ("html", "start", "single_canvas"),
    [
        (CANVAS, "game.start()", True),
        (TIMERS, "start()", False),
        pytest.param(STYLES, "start()", False, marks=pytest.mark.full),
    ],
    ids=["canvas", "timers", "styles"],
)
def test_two_runs_are_equal_in_every_byte(laboratory: Any, html: str, start: str, single_canvas: bool) -> None:
    first = laboratory.open(html, single_canvas=single_canvas)
    second = laboratory.open(html, single_canvas=single_canvas)
    laboratory.run(asyncio.sleep(0.2))
    pauses = random.Random()
    one = laboratory.run(episode(first, start, 3, pauses))
    two = laboratory.run(episode(second, start, 3, pauses))
    assert one == two
    assert len(set(one)) > 8  # and the page did move
    assert laboratory.run(episode(second, start, 4, pauses)) != one


def test_an_episode_does_not_depend_on_the_one_before(laboratory: Any) -> None:
    page = laboratory.open(CANVAS.replace("setInterval", "void"), single_canvas=True)
    pauses = random.Random(0)
    first = laboratory.run(episode(page, "game.start()", 3, pauses))
    laboratory.run(episode(page, "game.start()", 5, pauses))
    assert laboratory.run(episode(page, "game.start()", 3, pauses)) == first


def test_the_text_cursor_does_not_blink(laboratory: Any) -> None:
    page = laboratory.open("<input id=field style='width: 60px'>")

    async def look() -> set[bytes]:
        await page.start("field.focus()", seed=0)
        shown = set()
        for _ in range(6):
            await asyncio.sleep(0.25)
            shown.add((await page.act([], advance_ms=10)).png)
        return shown

    assert len(laboratory.run(look())) == 1


def test_a_long_wait_costs_little_real_time(laboratory: Any) -> None:
    page = laboratory.open(CANVAS, single_canvas=True)

    async def wait() -> float:
        await page.start("game.start()", seed=0)
        begin = asyncio.get_running_loop().time()
        await page.act([], advance_ms=10_000)
        return asyncio.get_running_loop().time() - begin

    assert laboratory.run(wait()) < 5


def test_canvas_screen_and_plain_paths_show_equal_pixels(laboratory: Any) -> None:
    site: Site = laboratory.site(CANVAS)

    async def pictures(path: str) -> list[Any]:
        async with BrowserManager(BrowserConfig(browsers=1, screenshot=path)) as manager:
            page = await manager.open_page(site, single_canvas=True)
            await page.start("game.start()", seed=1)
            shown = [
                (await page.act([MouseDown(9 * i, 5 * i), MouseUp(9 * i, 5 * i)], advance_ms=150)).pixels
                for i in range(8)
            ]
            assert page.screenshot_path == path and not manager.stats.given_up
            return shown

    async def compare() -> None:
        plain = await pictures("plain")
        assert plain[0].shape == (96, 96, 3)
        for path in ("canvas", "frame", "cdp"):
            assert np.array_equal(await pictures(path), plain), path

    laboratory.run(compare())
