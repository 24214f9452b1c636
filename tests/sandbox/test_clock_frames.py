"""What the browser tells with its own frames comes at the virtual time of its cause, the same in every run."""

from __future__ import annotations

from typing import Any

import pytest

from tars_jax.sandbox.browser import InputEvent, MouseMove

pytestmark = pytest.mark.browser
SAY = "<script>var log = [], say = (...values) => log.push([performance.now(), ...values].join(' '))</script>"
MOUSE: list[InputEvent] = [MouseMove(30, 30)]
CLOSE = "setTimeout(() => d.close('v'), 100)"
CASES = {
    "close": (f"<dialog id=d open></dialog><script>d.onclose = () => say(d.returnValue); {CLOSE}</script>", ["100 v"]),
    "close in a shadow tree": (
        f"""<div id=host></div><script>const root = host.attachShadow({{ mode: 'closed' }});
        root.innerHTML = '<dialog open>'; const d = root.firstChild; d.onclose = () => say('close');
        {CLOSE}</script>""",
        ["100 close"],
    ),
    "a form that closes": (
        """<dialog id=d open><form method=dialog><button id=b value=yes></button></form></dialog><script>
        d.onclose = () => say(d.returnValue); setTimeout(() => b.click(), 100)</script>""",
        ["100 yes"],
    ),
    "select": (
        """<input id=i value=hello><script>i.onselect = () => say('select'); setTimeout(() => i.select(), 100);
        setTimeout(() => i.setSelectionRange(1, 2), 133)</script>""",
        ["100 select", "133 select"],
    ),
    "selectionchange": (
        """<p id=p>hello</p><script>document.onselectionchange = () => say('selection');
        setTimeout(() => getSelection().selectAllChildren(p), 100);
        setTimeout(() => getSelection().getRangeAt(0).setStart(p.firstChild, 2), 133)</script>""",
        ["100 selection", "133 selection"],
    ),
    "a frame's own size": (
        """<iframe id=f srcdoc=x></iframe><style id=s></style><script>setTimeout(() => {
        f.contentWindow.onresize = () => say('size');
        f.contentWindow.matchMedia('(max-width: 90px)').onchange = ({ matches }) => say('narrow', matches); }, 50);
        setTimeout(() => { f.style.width = '80px' }, 100);
        setTimeout(() => { s.sheet.insertRule('iframe { height: 30px }') }, 133)</script>""",
        ["100 size", "100 narrow true", "133 size"],
    ),
    "what moves under a still mouse": (
        """<p id=p style='position: absolute; margin: 0; left: 90px; top: 0; width: 50px; height: 50px'></p><script>
        p.onmouseenter = () => say('enter', p.matches(':hover')); p.onmouseleave = () => say('leave');
        setTimeout(() => { p.style.left = '10px' }, 100); setTimeout(() => { p.style.left = '90px' }, 133)</script>""",
        ["100 enter true", "133 leave"],
    ),
    "what an animation moves there": (
        """<style>@keyframes go { to { left: 0 } } p { position: absolute; margin: 0; left: 100px; top: 0; width: 50px;
        height: 50px; animation: go .2s .1s linear both }</style><p id=p></p><script>
        p.onmouseenter = () => say('enter')</script>""",
        ["250 enter"],
    ),
    "popover and details": (
        """<p id=p popover></p><details id=d></details><script>p.ontoggle = ({ newState }) => say(newState);
        d.ontoggle = () => say(d.open); setTimeout(() => p.showPopover(), 100);
        setTimeout(() => { d.open = true }, 133)</script>""",
        ["100 open", "133 true"],
    ),
    "focus": (
        """<p id=p></p><script>addEventListener('focusin', () => say('in')); addEventListener('focusout', () =>
        say('out')); setTimeout(() => { p.innerHTML = '<input autofocus>' }, 100);
        setTimeout(() => { p.style.display = 'none' }, 133)</script>""",
        ["100 in", "133 out"],
    ),
    "in a frame": (
        """<iframe id=f srcdoc='<p id=p style="margin: 500px 0">x'></iframe><script>onload = () => {
        const { contentWindow: w } = f; w.onscroll = () => say('scroll');
        new w.IntersectionObserver(([{ isIntersecting }]) => say('seen', isIntersecting)).observe(w.p); };
        setTimeout(() => f.contentWindow.scrollTo(0, 500), 100)</script>""",
        ["0 seen false", "100 scroll", "100 seen true"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_events_of_the_browsers_frames_have_the_time_of_their_cause(laboratory: Any, case: str) -> None:
    html, expected = CASES[case]
    page = laboratory.open(f"{SAY}<body style='margin: 0'>{html}")
    laboratory.run(page.start("0", seed=0))
    seen = laboratory.run(page.act(MOUSE, advance_ms=1000, read="log"))
    assert seen.data == expected
    again = laboratory.run(page.act([], advance_ms=0, read="log"))
    assert again.data == expected and again.png == seen.png


def test_a_page_that_changes_nothing_asks_for_no_frames(laboratory: Any) -> None:
    page = laboratory.open("""<canvas id=c width=96 height=96></canvas><script>
      var asked = 0; const { wish } = __clock.timeline; __clock.timeline.wish = () => { asked++; wish(); };
      const draw = () => { c.getContext('2d').fillRect(performance.now() / 10, 0, 2, 2); requestAnimationFrame(draw); };
      draw(); setInterval(() => { c.width = 96; }, 10);</script>""")
    laboratory.run(page.start("0", seed=0))
    before = laboratory.run(page.act([], advance_ms=100, read="asked")).data
    assert laboratory.run(page.act([], advance_ms=1000, read="asked")).data == before


def test_a_frame_of_another_origin_that_is_not_to_be_seen_goes_on(laboratory: Any) -> None:
    inside = "document.body.append('x'); setTimeout(() => parent.postMessage(performance.now(), '*'), 30)"
    page = laboratory.open(f"""{SAY}<p style='height: 3000px'></p><script>onmessage = ({{ data }}) => say(data)</script>
      <iframe sandbox=allow-scripts srcdoc="<body><script>setTimeout(() => {{ {inside} }}, 40)</script>"></iframe>""")
    laboratory.run(page.start("0", seed=0))
    assert laboratory.run(page.act([], advance_ms=200, read="log")).data == ["70 70"]


@pytest.mark.parametrize(
    "go",
    [
        "f.src = 'http://other.example/'",
        pytest.param("f.src = 'data:text/html,x'", marks=pytest.mark.full),
        pytest.param("f.src = 'about:blank'", marks=pytest.mark.full),
        "link.click()",
        pytest.param("f.sandbox = 'allow-scripts'; f.srcdoc = 'x'", marks=pytest.mark.full),
        "f.remove()",
        "document.domain = document.domain",
    ],
)
@pytest.mark.first(2)
def test_a_page_lives_on_whose_frame_goes_elsewhere(laboratory: Any, go: str) -> None:
    page = laboratory.open(f"""{SAY}<a id=link target=there href='http://other.example/'></a>
      <iframe id=f name=there srcdoc='<p style="height: 900px">x'></iframe><p id=p></p><script>onload = () => {{
        const {{ contentWindow: w, contentDocument: d }} = f; w.setInterval(() => {{}}, 10);
        d.body.animate([], 5000); d.body.attachShadow({{ mode: 'open' }});
        new w.ResizeObserver(() => {{}}).observe(d.body); }};
      new ResizeObserver(() => say(p.offsetWidth)).observe(p);
      setTimeout(() => {{ {go} }}, 50); setTimeout(() => {{ p.style.width = '50px' }}, 90);
      setTimeout(() => f.remove(), 130); setTimeout(() => {{ p.style.width = '60px' }}, 150);</script>""")
    laboratory.run(page.start("0", seed=0))
    for _ in range(5):
        seen = laboratory.run(page.act([], advance_ms=40, read="log.slice(1)")).data
    assert seen == ["90 50", "150 60"]


def test_thousands_of_animations_are_carried_on_without_asking_for_each(laboratory: Any) -> None:
    page = laboratory.open("""<style>@keyframes dim { to { opacity: .5 } } b { animation: dim 5s }</style>
      <body><script>document.body.innerHTML = '<b></b>'.repeat(3000); var asked = 0;
      for (const [kind, name] of [[Document, 'getAnimations'], [AnimationEffect, 'getComputedTiming']]) {
        const own = kind.prototype[name];
        kind.prototype[name] = function () { asked++; return own.call(this); };
      }</script>""")
    laboratory.run(page.start("0", seed=0))
    laboratory.run(page.act([], advance_ms=20))
    laboratory.run(page.evaluate("asked = 0"))
    read = "[asked < 9000, +getComputedStyle(document.body.lastChild).opacity < 1]"
    assert laboratory.run(page.act([], advance_ms=300, read=read)).data == [True, True]


BEGUN = "parent.postMessage([Date.now() - 1735732800000, performance.now()].join(' '), '*')"
LATE = {
    "its text": "f.srcdoc = `<script>${begun}</scr` + 'ipt>'",
    "an address of data": "f.src = 'data:text/html,' + encodeURIComponent(`<script>${begun}</scr` + 'ipt>')",
    "a file": "f.src = 'inner.html'",
    "a file that goes to another": "f.src = 'mover.html'",
}


@pytest.mark.parametrize("name", LATE)
def test_the_first_script_of_a_late_frame_of_another_origin_reads_its_moment(laboratory: Any, name: str) -> None:
    """However steps are cut."""
    site = laboratory.site(f"""{SAY}<body><script>onmessage = ({{ data }}) => say(data); const begun = `{BEGUN}`;
      setTimeout(() => {{ const f = document.createElement('iframe'); f.sandbox = 'allow-scripts'; {LATE[name]};
      document.body.append(f); }}, 30)</script>""")
    (site.root / "inner.html").write_text(f"<script>{BEGUN}</script>")
    (site.root / "mover.html").write_text("<script>setTimeout(() => { location = 'inner.html'; }, 20)</script>")
    at = 50 if name.endswith("another") else 30
    for step in (100, 10):
        page = laboratory.run(laboratory.manager.open_page(site))
        laboratory.run(page.start("0", seed=0))
        for _ in range(100 // step):
            seen = laboratory.run(page.act([], advance_ms=step, read="log")).data
        assert seen == [f"{at} {at} 0"], step
        laboratory.run(page.close())
