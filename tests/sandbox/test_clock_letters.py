"""What timelines say to one another, by whichever way, has the sender's moment and one order, however steps are cut."""

from __future__ import annotations

import html
from typing import Any

import pytest

pytestmark = pytest.mark.browser

SAY = """<body><script>const log = [], say = (...values) => log.push([...values, performance.now()].join(' '));
const work = (text) => new Worker(URL.createObjectURL(new Blob([text])));
const at = (ms, act) => setTimeout(act, ms);</script>"""


def frame(script: str) -> str:
    """One of an origin of its own."""
    return f'<iframe sandbox=allow-scripts srcdoc="{html.escape(f"<body><script>{script}</script>")}"></iframe>'


ECHO = "onmessage = ({ data }) => setTimeout(() => parent.postMessage([data, performance.now()].join(' '), '*'), 30)"
TALKS = {
    "broadcasts to a worker": (
        """<script>work(`const c = new BroadcastChannel('x');
          c.onmessage = ({ data }) => c.postMessage(data + ' ' + performance.now())`);
        const c = new BroadcastChannel('x'); c.onmessage = ({ data }) => say(data);
        for (const ms of [20, 30]) at(ms, () => c.postMessage(ms));</script>""",
        ["20 20 20", "30 30 30"],
    ),
    "broadcasts among many": (
        """<iframe srcdoc="<script>const c = new BroadcastChannel('x'); c.onmessage = ({ data, origin }) => {
          if (data === 'go') c.postMessage('frame ' + origin); }</script>"></iframe><script>
        const one = (name, ms) => `const c = new BroadcastChannel('x'); c.onmessage = ({ data }) => {
          if (data !== 'go') return; for (let i = 0; i < ${ms * 100_000}; i++); c.postMessage('${name}'); }`;
        for (const [index, name] of ['slow', 'fast'].entries()) work(one(name, 20 - 19 * index));
        new SharedWorker(URL.createObjectURL(new Blob([one('shared', 1) +
          '; onconnect = ({ ports: [port] }) => port.start()'])));
        const c = new BroadcastChannel('x'), d = new BroadcastChannel('x'), other = new BroadcastChannel('y');
        c.onmessage = ({ data }) => say(data); d.onmessage = ({ data }) => { if (data === 'go') say('beside'); };
        other.onmessage = () => say('never'); at(20, () => c.postMessage('go'));</script>""",
        [
            "beside 20",
            "frame http://sandbox.invalid 20",
            "slow 20",
            "fast 20",
            "shared 20",
        ],
    ),
    "a frame's timer": (
        frame(ECHO)
        + "<script>onmessage = ({ data }) => say(data); at(20, () => frames[0].postMessage(0, '*'))</script>",
        ["0 50 50"],
    ),
    "a frame's interval and frames": (
        frame("""let n = 0;
          const beat = setInterval(() => { parent.postMessage(++n, '*'); if (n > 1) clearInterval(beat) }, 35);
          requestAnimationFrame((now) => parent.postMessage(Math.round(now), '*'))""")
        + "<script>onmessage = ({ data }) => say(data, '');</script>",
        ["17  16.666666666666668", "1  35", "2  70"],
    ),
    "frames beside one another": (
        frame("""onmessage = () => setTimeout(() => parent[1].postMessage(performance.now(), '*'), 10)""")
        + frame("onmessage = ({ data }) => parent.postMessage([data, performance.now()].join(' '), '*')")
        + """<script>onmessage = ({ data }) => say(data); at(20, () => frames[0].postMessage(0, '*'));
        at(40, () => { frames[1].postMessage('direct', '*'); frames[0].postMessage(0, '*'); })</script>""",
        ["30 30 30", "direct 40 40", "50 50 50"],
    ),
    "a port to a frame": (
        frame("""onmessage = ({ ports: [port] }) => { port.onmessage = ({ data }) =>
          setTimeout(() => port.postMessage([data, performance.now()].join(' ')), 13) }""")
        + """<script>const { port1, port2 } = new MessageChannel(); port1.onmessage = ({ data }) => say(data);
        at(5, () => frames[0].postMessage(0, '*', [port2])); at(20, () => port1.postMessage('x'))</script>""",
        ["x 33 33"],
    ),
    "a worker of a frame": (
        frame("""const worker = new Worker(URL.createObjectURL(new Blob([`onmessage = ({ data }) =>
          setTimeout(() => postMessage(data + ' ' + performance.now()), 11)`])));
          worker.onmessage = ({ data }) => parent.postMessage(data, '*'); onmessage = () => worker.postMessage('x')""")
        + "<script>onmessage = ({ data }) => say(data); at(20, () => frames[0].postMessage(0, '*'))</script>",
        ["x 31 31"],
    ),
    "workers that answer over ports": (
        """<script>for (const [index, rounds] of [2_000_000, 10].entries()) {
          const { port1, port2 } = new MessageChannel();
          work(`onmessage = ({ ports: [port] }) => { port.onmessage = ({ data }) => {
            for (let i = 0; i < ${rounds}; i++); port.postMessage(data); postMessage(-data); } }`)
          .postMessage(0, [port2]); port1.onmessage = ({ data }) => say(index, data);
          at(20, () => port1.postMessage(7)); }</script>""",
        ["0 7 20", "1 7 20"],
    ),
    "a long talk with a frame": (
        frame("onmessage = () => parent.postMessage(0, '*')")
        + """<script>let n = 0; onmessage = () => { if (++n < 60) frames[0].postMessage(0, '*'); else say('over'); };
        at(20, () => frames[0].postMessage(0, '*'))</script>""",
        ["over 20"],
    ),
}


@pytest.mark.parametrize("name", TALKS)
def test_letters_have_one_time_and_order_however_steps_are_cut(laboratory: Any, name: str) -> None:
    page_html, expected = TALKS[name]
    for step in (100, 5):
        page = laboratory.open(SAY + page_html)
        laboratory.run(page.start("0", seed=0))
        for _ in range(100 // step):
            seen = laboratory.run(page.act([], advance_ms=step, read="log")).data
        assert seen == expected, step
        laboratory.run(page.close())


def test_a_frame_answers_while_time_stands(laboratory: Any) -> None:
    page = laboratory.open(SAY + frame("onmessage = ({ data }) => parent.postMessage(data + 1, '*')"))
    laboratory.run(page.act([], advance_ms=50))
    ask = "new Promise((resolve) => { onmessage = ({ data }) => resolve(data); frames[0].postMessage(6, '*'); })"
    assert laboratory.run(page.evaluate(ask)) == 7


def test_a_channel_that_is_closed_hears_and_says_nothing(laboratory: Any) -> None:
    page = laboratory.open(f"""{SAY}<script>const [one, two] = [new BroadcastChannel('x'), new BroadcastChannel('x')];
      two.onmessage = ({{ data }}) => {{ say(data.map.constructor === Function); }};
      at(10, () => one.postMessage([1])); at(20, () => {{ one.postMessage([2]); two.close(); }});
      at(30, () => {{ try {{ two.postMessage(3) }} catch ({{ name }}) {{ say(name) }} }});
      at(40, () => {{ try {{ one.postMessage(() => 0) }} catch ({{ name }}) {{ say(name) }} }});</script>""")
    laboratory.run(page.start("0", seed=0))
    said = laboratory.run(page.act([], advance_ms=50, read="log")).data
    assert said == ["true 10", "InvalidStateError 30", "DataCloneError 40"]


@pytest.mark.parametrize("kind", ["broadcasts", "a frame", "two workers"])
def test_time_goes_on_beside_a_talk_without_an_end(laboratory: Any, kind: str) -> None:
    begin = {
        "broadcasts": """work(`const c = new BroadcastChannel('x'); c.onmessage = () => c.postMessage(0)`);
          const c = new BroadcastChannel('x'); c.onmessage = () => c.postMessage(0); at(10, () => c.postMessage(0));""",
        "a frame": "onmessage = () => frames[0].postMessage(0, '*'); at(10, () => frames[0].postMessage(0, '*'));",
        "two workers": """const { port1, port2 } = new MessageChannel(), echo = `onmessage = ({ ports: [port] }) => {
          port.onmessage = () => port.postMessage(0); setTimeout(() => port.postMessage(0), 10) }`;
          work(echo).postMessage(0, [port1]); work(echo).postMessage(0, [port2]);""",
    }[kind]
    beside = frame("onmessage = () => parent.postMessage(0, '*')") if kind == "a frame" else ""
    page = laboratory.open(f"{SAY}{beside}<script>{begin} at(15, () => say('beside'))</script>")
    laboratory.run(page.start("0", seed=0))
    assert laboratory.run(page.act([], advance_ms=20, read="log")).data == ["beside 15"]
