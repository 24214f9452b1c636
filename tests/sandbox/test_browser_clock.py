"""The virtual clock, seen from a page."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.browser
EPOCH_MS = 1735732800000  # 2025-01-01 12:00 UTC


@pytest.fixture
def script(laboratory: Any) -> Callable[..., Any]:
    """Runs JavaScript in a fresh page: the body of an async function, with `advance` and a list `log`."""
    page = laboratory.open("<body></body>")

    def run(body: str) -> Any:
        return laboratory.run(
            page.evaluate(f"(async () => {{ const log = [], advance = __clock.advance; {body}; return log; }})()")
        )

    return run


def test_time_stands_still_and_every_reader_agrees(script: Callable[..., Any]) -> None:
    readers = "[Date.now(), +new Date(), new Date().toISOString(), performance.now(), performance.timeOrigin]"
    first = script(f"log.push(...{readers})")
    time.sleep(0.05)
    assert script(f"log.push(...{readers})") == first
    assert first == [EPOCH_MS, EPOCH_MS, "2025-01-01T12:00:00.000Z", 0, EPOCH_MS]
    assert script(f"await advance(1500.5); log.push(...{readers})")[:4] == [
        EPOCH_MS + 1500, EPOCH_MS + 1500, "2025-01-01T12:00:01.500Z", 1500.5
    ]  # fmt: skip


def test_date_behaves_as_the_native_one(script: Callable[..., Any]) -> None:
    assert script("""
        class Day extends Date { twice() { return 2 * this.getTime(); } }
        log.push(typeof Date(), Date() === new Date().toString(), new Date() instanceof Date,
                 new Date(2020, 1).getMonth(),
                 new Date(0).constructor === Date, Date.UTC(1970, 0, 2), Date.parse('1970-01-01'),
                 Date.name, Date.length,
                 new Day(3).twice(), new Day() instanceof Day, Object.keys(Date).includes('nope'))
    """) == ["string", True, True, 1, True, 86400000, 0, "Date", 7, 6, True, False]


def test_a_timeline_that_a_page_made_stands_and_moves_with_time(script: Callable[..., Any]) -> None:
    assert script("""
        await advance(100);
        const made = new DocumentTimeline({originTime: 30}), box = document.body;
        const fade = () => new KeyframeEffect(box, {opacity: [1, 0]}, 1000);
        const built = new Animation(fade(), made), moved = new Animation(fade()), usual = new Animation(fade());
        const begun = box.animate({left: ['0', '9px']}, {duration: 500, timeline: made});
        moved.timeline = made;
        for (const one of [built, moved, usual]) one.play();
        await new Promise((resolve) => { const channel = new MessageChannel();
          const until = __clock.native.now() + 60; channel.port2.postMessage(0);
          channel.port1.onmessage = () => {
            if (__clock.native.now() > until) resolve(); else channel.port2.postMessage(0); }; });
        log.push(made.currentTime, built.currentTime, begun.currentTime);
        await advance(300);
        log.push(made.currentTime, ...[built, moved, usual, begun].map((one) => Math.round(one.currentTime)));
        log.push(built.timeline === made, begun.timeline === made, usual.timeline === document.timeline);
        log.push(Math.round(usual.startTime - built.startTime), built instanceof Animation, new Animation().timeline
          === document.timeline, new Animation(null, null).timeline);
        built.startTime = 70;
        log.push(Math.round(built.currentTime), Math.round(built.startTime));
        await advance(300);
        log.push(begun.playState);
    """) == [70, 0, 0, 370, 300, 300, 300, 300, True, True, True, 30, True, True, None, 300, 70, "finished"]


def test_a_shared_worker_follows_its_documents(laboratory: Any) -> None:
    """One worker of a page and its frame: what it says to each has an exact time, twice the same."""
    client = """<!doctype html><script>const seen = [], shared = new SharedWorker('shared.js', 'name');
      shared.port.onmessage = ({ data }) => seen.push([performance.now(), ...data]);"""
    site = laboratory.site(f"<iframe src=frame.html></iframe>{client}</script>")
    (site.root / "frame.html").write_text(f"{client} setTimeout(() => shared.port.postMessage('frame'), 120)</script>")
    (site.root / "shared.js").write_text("""let ticks = 0; setInterval(() => { ticks += 1; }, 100);
      onconnect = ({ ports: [port] }) => { port.onmessage = ({ data }) => setTimeout(() => port.postMessage(
        [data, ticks, Date.now() - 1735732800000, name, location.search, Math.random()]), 30); };""")

    def seen() -> Any:
        page = laboratory.run(laboratory.manager.open_page(site))
        laboratory.run(page.start("0", seed=3))
        laboratory.run(page.evaluate("shared.port.postMessage('top'), 0"))
        for _ in range(3):
            shown = laboratory.run(page.act([], advance_ms=110, read="[seen, frames[0].eval('seen')]"))
        return shown.data

    first = seen()
    assert [[entry[:6] for entry in entries] for entries in first] == [
        [[30, "top", 0, 30, "name", ""]], [[150, "frame", 1, 150, "name", ""]]
    ]  # fmt: skip
    assert seen() == first and 0 < first[0][0][6] < 1


def test_formats_default_to_virtual_time(script: Callable[..., Any]) -> None:
    assert script("""
        const format = new Intl.DateTimeFormat('en-GB', {dateStyle: 'short', timeStyle: 'short'});
        await advance(60000);
        log.push(format.format(), format.format(0), format.formatToParts().at(-1).value,
                 new Date().toLocaleTimeString(),
                 window.Temporal ? Temporal.Now.instant().toString() : '2025-01-01T12:01:00Z')
    """) == ["01/01/2025, 12:01", "01/01/1970, 00:00", "01", "12:01:00 PM", "2025-01-01T12:01:00Z"]


def test_timers_run_in_order_of_time_then_of_creation(script: Callable[..., Any]) -> None:
    assert script("""
        setTimeout(() => log.push(['c', performance.now()]), 30);
        setTimeout((...values) => log.push(['a', performance.now(), ...values]), 10, 1, 'two');
        setTimeout(() => log.push(['b', performance.now()]), 10);
        const gone = setTimeout(() => log.push('never'), 5);
        clearTimeout(gone);
        await advance(9); log.push('nothing yet');
        await advance(100)
    """) == ["nothing yet", ["a", 10, 1, "two"], ["b", 10], ["c", 30]]


def test_text_as_a_timer_and_odd_delays(script: Callable[..., Any]) -> None:
    assert script("""
        window.hits = 0;
        setTimeout('hits += 1'); setTimeout(() => hits += 1, -5); setTimeout(() => hits += 1, 'x');
        setTimeout(() => hits += 1, 2 ** 31); setTimeout(() => hits += 1, Infinity);
        await advance(0); log.push(hits);
        log.push(typeof setTimeout(() => {}), setTimeout(() => {}) > 0)
    """) == [5, "number", True]


def test_intervals_and_the_clamp_of_nested_timers(script: Callable[..., Any]) -> None:
    assert script("""
        const id = setInterval(() => { log.push(performance.now()); if (log.length === 3) clearInterval(id); }, 25);
        await advance(1000);
        const nested = (left) => setTimeout(() => {
          log.push(performance.now() - 1000); if (left) nested(left - 1); }, 0);
        nested(7); await advance(100);
    """) == [25, 50, 75, 0, 0, 0, 0, 0, 4, 8, 12]


def test_promises_settle_between_callbacks(script: Callable[..., Any]) -> None:
    assert script("""
        const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
        const walk = async () => {
          for (let i = 0; i < 5; i++) { await sleep(10); await null; log.push(performance.now()); } };
        walk(); await advance(45); log.push('break'); await advance(45)
    """) == [10, 20, 30, 40, "break", 50]


def test_frames_have_one_time_stamp_each_sixtieth(script: Callable[..., Any]) -> None:
    log = script("""
        let count = 0;
        const loop = (t) => { count += 1; log.push([t, performance.now()]); requestAnimationFrame(loop); };
        requestAnimationFrame(loop); requestAnimationFrame((t) => log.push([t, performance.now()]));
        await advance(200); log.push(count)
    """)
    assert log.pop() == 12
    assert log[0] == log[1]
    assert [frame[0] for frame in log[1:]] == pytest.approx([k * 1000 / 60 for k in range(1, 13)])
    assert all(stamp == now for stamp, now in log)


def test_a_frame_cancelled_by_an_earlier_callback_does_not_run(script: Callable[..., Any]) -> None:
    assert script("""
        let second;
        requestAnimationFrame(() => { log.push('first'); cancelAnimationFrame(second);
                                      requestAnimationFrame(() => log.push('next frame')); });
        second = requestAnimationFrame(() => log.push('second'));
        requestAnimationFrame(() => log.push('third'));
        await advance(17); log.push('|'); await advance(17)
    """) == ["first", "third", "|", "next frame"]


def test_timers_and_frames_run_in_order_of_time(script: Callable[..., Any]) -> None:
    assert script("""
        requestAnimationFrame(() => { log.push('frame'); setTimeout(() => log.push('after'), 1); });
        setTimeout(() => log.push('before'), 16); setTimeout(() => log.push('late'), 30);
        await advance(100)
    """) == ["before", "frame", "after", "late"]


def test_idle_callbacks_signals_and_tasks(script: Callable[..., Any]) -> None:
    assert script("""
        requestIdleCallback((deadline) => log.push(['idle', deadline.timeRemaining() > 0, deadline.didTimeout]));
        const signal = AbortSignal.timeout(50);
        signal.addEventListener('abort', () => log.push([signal.reason.name, performance.now()]));
        scheduler.postTask(() => log.push(['task', performance.now()]), {delay: 20});
        await advance(19); log.push('|'); await advance(100)
    """) == [["idle", True, False], "|", ["task", 20], ["TimeoutError", 50]]


def test_events_carry_virtual_time(script: Callable[..., Any]) -> None:
    assert script("await advance(40); log.push(new Event('x').timeStamp, document.timeline.currentTime)") == [40, 40]


def test_an_error_in_a_callback_is_reported_and_stops_nothing(script: Callable[..., Any]) -> None:
    assert script("""
        window.onerror = (message) => { log.push(message); return true; };
        setTimeout(() => { throw new Error('broken'); }, 1); setTimeout(() => log.push('still here'), 2);
        await advance(10)
    """) == ["Uncaught Error: broken", "still here"]


def test_animations_move_with_the_clock_alone(laboratory: Any) -> None:
    page = laboratory.open("""
        <style>@keyframes walk { from { width: 0px } to { width: 100px } }
        #css { animation: walk 1000ms linear } #held { animation: walk 1s linear; animation-play-state: paused }
        #fade { opacity: 1; transition: opacity 400ms linear } #fade.out { opacity: 0 }</style>
        <div id=css></div><div id=held></div><div id=fade></div><div id=web></div>
        <script>window.log = []; for (const type of ['animationend', 'transitionend'])
          addEventListener(type, (event) => log.push([type, event.target.id, Math.round(performance.now())]));
        const growing = [{height: '0px'}, {height: '100px'}];
        const web = document.getElementById('web').animate(growing, {duration: 500, fill: 'forwards'});
        web.onfinish = () => log.push(['finish', Math.round(performance.now())]);
        const width = (id) => getComputedStyle(document.getElementById(id)).width;
        window.look = () => [width('css'), width('held'), getComputedStyle(document.getElementById('web')).height,
                             getComputedStyle(document.getElementById('fade')).opacity, web.playState]</script>""")

    async def play() -> list[Any]:
        await asyncio.sleep(0.1)
        seen = [(await page.start("0", seed=0, read="look()")).data]
        await asyncio.sleep(0.1)
        seen.append((await page.act([], advance_ms=250, read="look()")).data)
        await page.evaluate("document.getElementById('fade').className = 'out'")
        await asyncio.sleep(0.1)
        seen.append((await page.act([], advance_ms=200, read="look()")).data)
        seen.append((await page.act([], advance_ms=600, read="look()")).data)
        return [*seen, await page.evaluate("log")]

    first, quarter, later, last, log = laboratory.run(play())
    assert first[:4] == ["0px", "0px", "0px", "1"]
    assert quarter[:4] == ["25px", "0px", "50px", "1"]
    assert later[:4] == ["45px", "0px", "90px", "0.5"]
    assert later[4] == "running" and last[4] == "finished"
    assert last[2:4] == ["100px", "0"] and last[1] == "0px"
    # ends are seen at the first frame at or after them
    assert log == [["finish", 500], ["transitionend", "fade", 650], ["animationend", "css", 1000]]


def test_animations_obey_the_page(script: Callable[..., Any]) -> None:
    assert script("""
        const box = document.body.appendChild(document.createElement('div'));
        const slide = box.animate([{width: '0px'}, {width: '100px'}], {duration: 1000, iterations: 2});
        const width = () => getComputedStyle(box).width;
        await advance(500); log.push(width());
        slide.pause(); await advance(300); log.push(width(), slide.playState);
        slide.play(); await advance(100); log.push(width());
        slide.currentTime = 1250; await advance(0); log.push(width());
        slide.playbackRate = 2; await advance(100); log.push(width());
        slide.cancel(); await advance(100); log.push(width() === getComputedStyle(document.body).width)
    """) == ["50px", "50px", "paused", "60px", "25px", "45px", True]


def test_chance_comes_from_the_seed(laboratory: Any) -> None:
    page = laboratory.open("")
    draws = "[Math.random(), Math.random(), ...crypto.getRandomValues(new Uint8Array(4))]"

    async def draw(seed: int) -> list[float]:
        return (await page.start("0", seed=seed, read=draws)).data

    first, again, other = laboratory.run(draw(7)), laboratory.run(draw(7)), laboratory.run(draw(8))
    assert first == again != other
    mean = laboratory.run(page.evaluate("Array.from({length: 1e5}, Math.random).reduce((a, b) => a + b) / 1e5"))
    assert mean == pytest.approx(0.5, abs=0.005)


def test_a_loop_that_began_at_load_survives_a_reset(laboratory: Any) -> None:
    page = laboratory.open("""<script>window.times = [];
        const loop = (t) => { times.push(t); requestAnimationFrame(loop); };
        requestAnimationFrame(loop); setTimeout(() => times.push('timer'), 100);</script>""")

    async def play() -> list[Any]:
        await page.start("0", seed=0)
        await page.act([], advance_ms=40)
        await page.start("times.length = 0", seed=0)
        return (await page.act([], advance_ms=70, read="[times, performance.now()]")).data

    times, now = laboratory.run(play())
    assert now == 70
    assert times == pytest.approx([1000 / 60, 2000 / 60, 50, "timer", 4000 / 60])


def test_frames_of_the_page_share_its_clock(laboratory: Any) -> None:
    page = laboratory.open("""
        <iframe id=inner srcdoc="<script>setTimeout(() => parent.log.push(['inner', performance.now()]), 10)</script>">
        </iframe><script>window.log = []; setTimeout(() => log.push(['outer', performance.now()]), 20)</script>""")
    assert laboratory.run(page.act([], advance_ms=30, read="log")).data == [["inner", 10], ["outer", 20]]
    laboratory.run(page.evaluate("(inner.contentWindow.setTimeout(() => log.push('gone'), 10), inner.remove())"))
    assert laboratory.run(page.act([], advance_ms=30, read="log.length")).data == 2


def test_no_time_passes_between_the_documents_of_a_frame(laboratory: Any) -> None:
    """However long the next one takes to come; a frame that is taken away keeps nobody waiting."""
    page = laboratory.open("""<iframe src="index.html?first"></iframe><script>
        if (parent !== window) {
            parent.log.push([location.search, performance.now()]);
            setTimeout(() => parent.log.push(["later", performance.now()]), 5);
        } else window.log = [];
        const go = (where) => { document.querySelector("iframe").contentWindow.location.search = where };
    </script>""")

    async def read() -> Any:
        await page.start("log.length = 0", seed=0)
        found = []
        for script in ('go("?second")', 'go("?third")', 'go("?fourth"), document.querySelector("iframe").remove()'):
            await page.evaluate(script)
            found.append((await page.act([], advance_ms=10, read="log.splice(0)")).data)
        return found

    assert laboratory.run(read()) == [[["?second", 0], ["later", 5]], [["?third", 0], ["later", 5]], []]
