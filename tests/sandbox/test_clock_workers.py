"""Several workers answer in the order in which they were made, however long each of them takes."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tars_jax.sandbox.browser import Site

pytestmark = pytest.mark.browser

PAGE = """<!doctype html><script>window.log = []; window.workers = [];
window.start = () => { for (let each = 0; each < 4; each++) setTimeout(() => {
  const worker = new Worker('worker.js');
  workers.push(worker);
  worker.onmessage = ({ data, ports }) => log.push([each, data, ports.length, performance.now()]);
}, 1); };
function ask(what) { workers.forEach((worker, index) => worker.postMessage([what, (4 - index) * 500_000])); }
setTimeout(() => ask('answer'), 10);
setTimeout(() => ask('close'), 20);
setTimeout(() => { workers.length = 0; log.push('again'); start(); }, 30);
setTimeout(() => { ask('answer'); workers[2].terminate(); }, 40);
</script>"""
WORKER = """postMessage('begins');
onmessage = ({ data: [what, work] }) => {
  let sum = 0;
  for (let index = 0; index < work; index++) sum += index;
  postMessage(work, [new MessageChannel().port1]);
  if (what === 'close') close();
};"""
BEGUN = [[each, "begins", 0, 1] for each in range(4)]


@pytest.fixture
def site(laboratory: Any) -> Site:
    site: Site = laboratory.site("")
    (site.root / "index.html").write_text(PAGE)
    (site.root / "worker.js").write_text(WORKER)
    return site


def test_workers_answer_in_order(laboratory: Any, site: Site) -> None:
    answers = [[[each, (4 - each) * 500_000, 1, at] for each in range(4)] for at in (10, 20, 40)]
    again = [[each, "begins", 0, 31] for each in range(4)]
    for _ in range(2):
        page = laboratory.run(laboratory.manager.open_page(site))
        laboratory.run(page.start("start()", seed=0))
        seen = laboratory.run(page.act([], advance_ms=50, read="log")).data
        left = [answer for answer in answers[2] if answer[0] != 2]
        assert seen == [*BEGUN, *answers[0], *answers[1], "again", *again, *left]
        laboratory.run(page.close())


def test_a_worker_is_heard_while_time_stands(laboratory: Any, site: Site) -> None:
    page = laboratory.run(laboratory.manager.open_page(site))
    hear = """new Promise((resolve) => {
      const worker = new Worker('worker.js');
      worker.onmessage = ({ data }) => (data === 'begins' ? worker.postMessage(['answer', 7]) : resolve(data));
    })"""
    laboratory.run(page.act([], advance_ms=5))
    assert laboratory.run(page.evaluate(hear)) == 7


SHARED = {
    "a listener from the beginning": ("port.onmessage = heard", 20),
    "a listener that comes late": (
        "setTimeout(() => { port.addEventListener('message', heard); port.start(); }, 30)",
        30,
    ),
    "no listener": ("", None),
}


@pytest.mark.parametrize("name", SHARED)
def test_a_shared_worker_hears_when_it_listens_and_holds_nobody_up(laboratory: Any, name: str) -> None:
    listens, at = SHARED[name]
    site = laboratory.site("""<script>const log = [], { port } = new SharedWorker('shared.js');
      port.onmessage = ({ data }) => log.push([data, performance.now()]);
      setTimeout(() => port.postMessage('x'), 20); setTimeout(() => log.push('goes on'), 40)</script>""")
    (site.root / "shared.js").write_text(f"""onconnect = ({{ ports: [port] }}) => {{
      const heard = ({{ data }}) => port.postMessage(data + performance.now()); {listens}; }}""")
    page = laboratory.run(laboratory.manager.open_page(site))
    began = time.monotonic()
    laboratory.run(page.start("0", seed=0))
    answers = [] if at is None else [[f"x{at}", at]]
    assert laboratory.run(page.act([], advance_ms=50, read="log")).data == [*answers, "goes on"]
    assert time.monotonic() - began < 20  # a worker that does not begin was waited for that long
