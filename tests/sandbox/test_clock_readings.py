"""Loops that wait for a time end, and nothing that a page reads tells of real time or of the machine."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser

LOOPS = {
    "performance.now": "const begun = performance.now(); while (performance.now() - begun < 50);",
    "Date.now": "const begun = Date.now(); while (Date.now() - begun < 50);",
    "new Date": "const begun = +new Date(); while (new Date() - begun < 50);",
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_that_waits_for_a_time_ends(laboratory: Any, name: str) -> None:
    page = laboratory.open(f"""<script>const log = [], note = () => log.push(performance.now());
      setTimeout(() => {{ setTimeout(note, 5); {LOOPS[name]} log.push('over'); }}, 10);</script>""")
    laboratory.run(page.start("0", seed=0))
    over, at = laboratory.run(page.act([], advance_ms=200, read="log")).data
    assert over == "over" and 60 <= at < 62
    assert laboratory.run(page.act([], advance_ms=0, read="performance.now()")).data == 200


def test_a_worker_that_waits_for_a_time_ends(laboratory: Any) -> None:
    page = laboratory.open(f"""<script>const log = [], source = `{LOOPS["Date.now"]} postMessage(Date.now() - begun)`;
      new Worker(URL.createObjectURL(new Blob([source]))).onmessage = ({{ data }}) => log.push(data);</script>""")
    laboratory.run(page.start("0", seed=0))
    assert laboratory.run(page.act([], advance_ms=10, read="log")).data == [50]


def test_a_page_that_reads_the_time_often_sees_it_stand(laboratory: Any) -> None:
    page = laboratory.open("""<script>const log = []; let frame = 0;
      requestAnimationFrame(function look(now) { for (let reading = 0; reading < 900; reading++) performance.now();
        log.push(performance.now() === now); if (++frame < 10) requestAnimationFrame(look); });</script>""")
    laboratory.run(page.start("0", seed=0))
    assert laboratory.run(page.act([], advance_ms=200, read="log")).data == [True] * 10


def test_measures_between_moments_of_the_load_take_no_time(laboratory: Any) -> None:
    page = laboratory.open("""<script>const log = []; setTimeout(() => { performance.mark('a');
      const note = (...values) => { const { startTime, duration } =
        performance.measure('m', ...values); log.push([startTime, duration]); };
      note('domInteractive'); note({ start: 'domComplete' }); note('a', 'loadEventEnd');
      note({ start: 'responseEnd', duration: 3 }); note({ start: 'fetchStart', end: 'a' }); note('a');
      for (const name of ['unloadEventStart', 'none']) try { note(name); } catch ({ name }) { log.push(name); }
    }, 50);</script>""")
    laboratory.run(page.start("0", seed=0))
    assert laboratory.run(page.act([], advance_ms=100, read="log")).data == [
        [0, 50], [0, 50], [50, -50], [0, 3], [0, 50], [50, 0], "InvalidAccessError", "SyntaxError",
    ]  # fmt: skip


def test_entries_and_waits_have_virtual_times(laboratory: Any) -> None:
    page = laboratory.open("""<script>const log = {}; setTimeout(() => {
      log.mark = new PerformanceMark('a').startTime;
      log.given = new PerformanceMark('a', { startTime: 3 }).startTime;
      new IntersectionObserver(([{ time }]) => { log.seen = time; }).observe(document.body);
      const { buffer } = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
      const wait = (index, ms) => Atomics.waitAsync(new Int32Array(buffer), index, 0, ms).value;
      wait(0, 20).then((how) => { log.late = [how, performance.now()]; });
      wait(4, 20).then((how) => { log.told = [how, performance.now()]; });
      setTimeout(() => Atomics.notify(new Int32Array(buffer), 4), 5);
      log.machine = [navigator.hardwareConcurrency, performance.memory.usedJSHeapSize];
    }, 10);</script>""")
    laboratory.run(page.start("0", seed=0))
    assert laboratory.run(page.act([], advance_ms=100, read="log")).data == {
        "mark": 10, "given": 3, "seen": 10, "late": ["timed-out", 30], "told": ["ok", 15], "machine": [4, 10_000_000],
    }  # fmt: skip
