"""Chains of messages end before time goes on, unless they have no end; ports lead to workers at exact times."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.browser

PAGE = """<p id=shown></p><script>
const log = [], note = (...words) => { log.push([...words, performance.now()]); shown.textContent = log.length; };
const chains = { // each calls `step` once a hop, until that gives true
  channel(step) { const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => { if (!step()) port2.postMessage(0); }; port2.postMessage(0); },
  both(step) { const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => port1.postMessage(0);
    port2.onmessage = () => { if (!step()) port2.postMessage(0); }; port2.postMessage(0); },
  window(step) { const heard = () => { if (step()) removeEventListener('message', heard); else postMessage(0, '*'); };
    addEventListener('message', heard); postMessage(0, '*'); },
  broadcast(step) { const [one, two] = [new BroadcastChannel('x'), new BroadcastChannel('x')];
    one.onmessage = () => { if (!step()) two.postMessage(0); }; two.postMessage(0); },
  async yields(step) { do await scheduler.yield(); while (!step()); },
  async tasks(step) { do await scheduler.postTask(() => {}); while (!step()); },
  async loads(step) { do await fetch('data:,x'); while (!step()); },
};
function begin(name, hops) { let hop = 0;
  chains[name](() => { hop += 1; if (hop === hops) note(name, hop); return hop === hops; }); }
</script>"""
CHAINS = ["channel", "both", "window", "broadcast", "yields", "tasks", "loads"]


def test_a_chain_is_over_before_time_goes_on(laboratory: Any) -> None:
    page = laboratory.open(PAGE)
    laboratory.run(page.start("0", seed=0))
    for index, name in enumerate(CHAINS):
        laboratory.run(page.evaluate(f"void setTimeout(() => begin('{name}', 100), {10 * index + 10})"))
    seen = laboratory.run(page.act([], advance_ms=80, read="[log, shown.textContent]")).data
    assert seen == [[[name, 100, 10 * index + 10] for index, name in enumerate(CHAINS)], str(len(CHAINS))]


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.first(3)
def test_time_goes_on_beside_a_chain_without_an_end(laboratory: Any, name: str) -> None:
    page = laboratory.open(PAGE)
    laboratory.run(page.start("0", seed=0))
    laboratory.run(page.evaluate(f"void setTimeout(() => {{ begin('{name}', -1); setTimeout(note, 5); }}, 10)"))
    assert laboratory.run(page.act([], advance_ms=20, read="log")).data == [[15]]


ECHO = "onmessage = ({ ports: [port] }) => { port.onmessage = () => port.postMessage(performance.now()); }"
PORTS = {
    "a worker": "new Worker('echo.js').postMessage(0, [port2])",
    "a module": "new Worker('echo.js', { type: 'module' }).postMessage(0, [port2])",
    "a worker's worker": "new Worker('outer.js').postMessage(0, [port2])",
    "a shared worker": "new SharedWorker('shared.js').port.postMessage(0, [port2])",
    "two workers": "const other = new MessageChannel(); new Worker('echo.js').postMessage(0, [other.port2]);"
    "new Worker('relay.js').postMessage(0, [port2, other.port1])",
}
FILES = {
    "echo.js": ECHO,
    "outer.js": "const inner = new Worker('echo.js'); onmessage = ({ ports }) => inner.postMessage(0, [...ports])",
    "shared.js": f"onconnect = ({{ ports: [port] }}) => {{ let onmessage; {ECHO}; port.onmessage = onmessage; }}",
    "relay.js": "onmessage = ({ ports: [one, two] }) => { one.onmessage = ({ data }) => two.postMessage(data);"
    "two.onmessage = ({ data }) => one.postMessage(data); }",
}


@pytest.mark.parametrize("name", PORTS)
def test_a_port_leads_to_a_worker_and_back_at_once(laboratory: Any, name: str) -> None:
    site = laboratory.site(
        f"""<script>const log = []; const {{ port1, port2 }} = new MessageChannel(); {PORTS[name]};
        port1.onmessage = ({{ data }}) => log.push([data, performance.now()]);
        for (const at of [20, 30]) setTimeout(() => port1.postMessage(0), at);</script>"""
    )
    for file, text in FILES.items():
        (site.root / file).write_text(text)
    page = laboratory.run(laboratory.manager.open_page(site))
    laboratory.run(page.start("0", seed=0))
    assert laboratory.run(page.act([], advance_ms=50, read="log")).data == [[20, 20], [30, 30]]


def test_a_long_exchange_with_a_worker_takes_no_time(laboratory: Any) -> None:
    page = laboratory.open("""<script>const log = []; let count = 0;
      const worker = new Worker(URL.createObjectURL(new Blob(['onmessage = () => postMessage(0)'])));
      worker.onmessage = () => { if (++count < 100) worker.postMessage(0); else log.push(performance.now()); };
      setTimeout(() => worker.postMessage(0), 20);</script>""")
    laboratory.run(page.start("0", seed=0))
    assert laboratory.run(page.act([], advance_ms=50, read="log")).data == [20]
