"""What moves a page beside its timers: events of animations, observers, loads, workers and sound."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tars_jax.sandbox.browser import isolation

pytestmark = pytest.mark.browser


@pytest.fixture
def script(laboratory: Any) -> Callable[..., Any]:
    """Runs the body of an async function in a fresh page, with `advance`, a list `log` and `say(...values)`."""

    def run(body: str, html: str = "<body>") -> Any:
        page = laboratory.open(html)
        begin = (
            "const log = window.log = [], { advance } = __clock; await advance(100); const base = performance.now(); "
        )
        say = "const say = (...values) => log.push([Math.round(performance.now() - base), ...values]); "
        return laboratory.run(page.evaluate(f"(async () => {{ {begin} {say} {body}; return log; }})()"))

    return run


STYLES = """<style>@keyframes grow { to { width: 90px } } .grow { animation: grow 100ms 30ms }
  @keyframes dim { to { opacity: .3 } } .dim { animation: dim 100ms 5 }
  #fade { opacity: 1; transition: opacity 100ms 20ms } #fade.out { opacity: 0 }</style>
  <body><div id=one></div><div id=five></div><div id=fade></div><div id=web></div>"""


def test_events_of_animations_have_exact_times(script: Callable[..., Any]) -> None:
    log = script(
        """
        for (const type of ['animationstart', 'animationiteration', 'animationend', 'animationcancel', 'transitionrun',
                            'transitionstart', 'transitionend'])
          addEventListener(type, (event) => say(type.replace(/animation|transition/, ''), event.target.id));
        setTimeout(() => { one.className = 'grow' }, 40); setTimeout(() => { five.className = 'dim' }, 53);
        setTimeout(() => { five.className = '' }, 300); setTimeout(() => { fade.className = 'out' }, 45);
        const animation = web.animate([{ opacity: 0 }, { opacity: 1 }], 250);
        animation.finished.then(() => say('finished')); animation.onfinish = () => say('onfinish');
        say(animation.startTime); await advance(100);
        say(animation.startTime - base, animation.currentTime, animation.playState); await advance(300)""",
        STYLES,
    )
    assert log == [
        [0, None], [45, "run", "fade"], [53, "start", "five"], [67, "start", "fade"], [83, "start", "one"],
        [100, 0, 100, "running"], [167, "end", "fade"], [167, "iteration", "five"], [183, "end", "one"],
        [250, "finished"], [250, "onfinish"], [267, "iteration", "five"], [300, "cancel", "five"],
    ]  # fmt: skip


def test_observers_and_scrolling_tell_at_the_time_of_their_cause(script: Callable[..., Any]) -> None:
    assert script("""
        document.body.style.height = '3000px';
        const box = document.body.appendChild(document.createElement('div')); box.style.height = '10px';
        new ResizeObserver(() => say('size', box.offsetHeight)).observe(box);
        new IntersectionObserver(([{ isIntersecting }]) => say('seen', isIntersecting)).observe(box);
        addEventListener('scroll', () => say('scroll', scrollY));
        setTimeout(() => { box.style.height = '50px' }, 31); setTimeout(() => { box.style.display = 'none' }, 62);
        setTimeout(() => scrollTo({ top: 500, behavior: 'smooth' }), 75);
        await advance(200)""") == [
        [0, "size", 10], [0, "seen", True], [31, "size", 50], [62, "size", 0], [62, "seen", False],
        [75, "scroll", 500],
    ]  # fmt: skip


def test_what_loads_takes_no_time(script: Callable[..., Any]) -> None:
    assert script("""
        const at = (ms, work) => setTimeout(work, ms);
        at(10, async () => { const answer = await fetch('index.html'); await answer.text();
                              say('fetch', answer.status); });
        at(20, () => { const request = new XMLHttpRequest(); request.open('GET', 'index.html');
                       request.onload = () => say('request'); request.send(); });
        at(30, () => { const image = new Image(); image.onload = () => say('image');
          image.src = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'; });
        const frame = '<iframe src="index.html" onload="log.push(performance.now() - 100)">';
        at(40, () => { document.body.innerHTML = frame; });
        at(50, () => { const script = document.createElement('script'); script.src = 'none.js';
                       script.onerror = () => say('script'); document.body.append(script); });
        at(60, () => document.createElement('canvas').toBlob(() => say('blob')));
        await advance(100)""") == [
        [10, "fetch", 200], [20, "request"], [30, "image"], 40, [50, "script"], [60, "blob"]
    ]  # fmt: skip


WORKER = """let ticks = 0;
  const timer = setInterval(() => { postMessage(['tick', performance.now(), Date.now() % 60000]);
  if (++ticks === 2) clearInterval(timer) }, 20);
  onmessage = ({ data }) => postMessage([data, performance.now(), Math.random() < 1]);"""


def test_workers_have_the_time_of_their_page(script: Callable[..., Any]) -> None:
    assert script(f"""
        const code = {WORKER!r};
        const blob = URL.createObjectURL(new Blob([code]));
        for (const address of [blob, 'data:text/javascript,' + encodeURIComponent(code)]) {{
          const worker = new Worker(address, {{ name: 'mine' }});
          worker.onmessage = ({{ data }}) => say(...data);
          setTimeout(() => worker.postMessage('hello'), 33); setTimeout(() => worker.terminate(), 39);
          await advance(100);
        }}
        const lost = new Worker('none.js'); lost.onerror = () => say('error'); await advance(10);
        say(lost instanceof Worker, Worker.name)""") == [
        [20, "tick", 20, 120], [33, "hello", 33, True], [120, "tick", 20, 220], [133, "hello", 33, True],
        [200, "error"], [210, True, "Worker"],
    ]  # fmt: skip


def test_sound_has_the_time_of_its_page(script: Callable[..., Any]) -> None:
    assert script("""
        const context = new AudioContext(); context.onstatechange = () => say(context.state);
        const tone = context.createOscillator(); tone.connect(context.destination);
        tone.onended = () => say('tone', context.currentTime); tone.start(); tone.stop(0.05);
        const buffer = context.createBufferSource(); buffer.buffer = context.createBuffer(1, 4410, 44100);
        buffer.playbackRate.value = 2; buffer.onended = () => say('buffer'); buffer.start(0.02);
        setTimeout(() => context.suspend(), 30); setTimeout(() => context.resume(), 60);
        await advance(150)""") == [[30, "suspended"], [60, "running"], [80, "tone", 0.05], [100, "buffer"]]


def test_media_play_on_the_clock(script: Callable[..., Any]) -> None:
    assert script("""
        const bytes = new Uint8Array(8044), view = new DataView(bytes.buffer);
        const put = (at, text) => [...text].forEach((letter, i) => { bytes[at + i] = letter.charCodeAt(0); });
        put(0, 'RIFF'); view.setUint32(4, 8036, true); put(8, 'WAVEfmt ');
        put(36, 'data'); view.setUint32(40, 8000, true);
        [[16, 16], [24, 8000], [28, 8000]].forEach(([at, value]) => view.setUint32(at, value, true));
        [[20, 1], [22, 1], [32, 1], [34, 8]].forEach(([at, value]) => view.setUint16(at, value, true));
        const sound = new Audio(URL.createObjectURL(new Blob([bytes], { type: 'audio/wav' })));
        for (const type of ['play', 'pause', 'ended']) sound.addEventListener(type, () => say(type, sound.currentTime));
        sound.play(); await advance(500); say(sound.currentTime, sound.paused);
        sound.playbackRate = 2; await advance(100); sound.pause(); await advance(100);
        say(sound.currentTime, sound.paused); sound.play(); await advance(300); say(sound.ended)""") == [
        [0, "play", 0], [500, 0.5, False], [600, "pause", 0.7], [700, 0.7, True], [700, "play", 0.7],
        [850, "pause", 1], [850, "ended", 1], [1000, True],
    ]  # fmt: skip


def test_readers_that_are_easily_forgotten(script: Callable[..., Any]) -> None:
    assert script("""
        say(Performance.prototype.now.call(performance) - base, Object.keys(Date).length,
            new Date(undefined).getTime());
        performance.mark('a'); await advance(10); const measure = performance.measure('m', 'a');
        say(measure.startTime - base, measure.duration, performance.toJSON().timeOrigin - performance.timeOrigin);
        say(performance.getEntriesByType('navigation')[0].loadEventEnd, performance.timing.loadEventEnd - Date.now());
        const format = new Intl.DateTimeFormat(); say(format.format === format.format);
        scheduler.postTask(() => say('background'), { priority: 'background' }); setTimeout(() => say('timer'));
        scheduler.postTask(() => say('urgent'), { priority: 'user-blocking' }); await advance(0);
        requestAnimationFrame(() => { const chain = (n) => n ? Promise.resolve(n - 1).then(chain) : say('settled');
                                      chain(9); });
        requestAnimationFrame(() => say('next callback')); await advance(20);
        const frame = document.body.appendChild(document.createElement('iframe'));
        say(frame.contentWindow.performance.now(), frame.contentWindow.Date.now() - Date.now(),
            frame.contentDocument.timeline.currentTime)""") == [
        [0, 0, 0, None], [10, 0, 10, 0], [10, 0, -110], [10, True], [10, "urgent"], [10, "timer"], [10, "background"],
        [17, "settled"], [17, "next callback"], [30, 0, 0, 0],
    ]  # fmt: skip


def test_time_goes_on_without_frames_that_are_gone(script: Callable[..., Any]) -> None:
    """A promise of a document that is gone never settles: one removed, one replaced, one that ends its own sound."""
    assert script("""
        const frames = await Promise.all([0, 1, 2].map((index) => new Promise((resolve) => {
            const frame = document.createElement('iframe'); frame.src = `index.html?${index}`;
            frame.onload = () => resolve(frame); document.body.append(frame); })));
        const context = new frames[2].contentWindow.AudioContext(), sound = context.createBufferSource();
        sound.buffer = context.createBuffer(1, 441, 44100); sound.connect(context.destination); sound.start();
        sound.onended = () => { say('ended'); frames[2].remove(); };
        await advance(20);
        frames[0].remove(); frames[1].src = 'about:blank'; await advance(10);
        const registered = __clock.timeline.sources.length;
        requestAnimationFrame(() => say('frame')); setTimeout(() => say('timer'), 40); await advance(50);
        for (let count = 0; count < 5; count++) {
            const frame = document.body.appendChild(document.createElement('iframe'));
            await advance(20); frame.remove(); }
        await advance(20); say(__clock.timeline.sources.length - registered)""") == [
        [10, "ended"], [33, "frame"], [70, "timer"], [200, 0]
    ]  # fmt: skip


def test_animations_in_shadow_trees_and_outside_of_the_document_move(script: Callable[..., Any]) -> None:
    log = script(
        """
        const box = '<style>@keyframes go { to { width: 90px } } p { animation: go 100ms } </style><p>';
        const root = shut.attachShadow({ mode: 'closed' }); root.innerHTML = box;
        const below = document.createElement('div'); root.append(below);
        below.attachShadow({ mode: 'open' }).innerHTML = box;
        const inside = parsed.shadowRoot.querySelector('i');
        const watch = (name, element) => element.addEventListener('animationend', () => say(name));
        watch('closed', root.querySelector('p')); watch('below', below.shadowRoot.querySelector('p'));
        watch('parsed', parsed.shadowRoot.querySelector('p'));
        inside.animate([{ opacity: 0 }, { opacity: 1 }], 50).finished.then(() => say('inside'));
        document.createElement('b').animate([{ opacity: 0 }, { opacity: 1 }], 150).onfinish = () => say('outside');
        parsed.className = 'on'; await advance(75); say(getComputedStyle(inside).opacity); await advance(200)""",
        """<div id=shut></div><div id=parsed><template shadowrootmode=open><style>
        @keyframes go { to { width: 90px } } :host(.on) p { animation: go 100ms } </style><p></p><i></i></template>
        </div>""",
    )
    assert log[:2] == [[50, "inside"], [75, "1"]]
    assert sorted(log[2:]) == [[100, "below"], [100, "closed"], [100, "parsed"], [150, "outside"]]


def test_a_view_transition_takes_the_time_of_its_animations(script: Callable[..., Any]) -> None:
    assert script(
        """
        setTimeout(() => {
          const change = async () => { await new Promise((resolve) => setTimeout(resolve, 20)); box.className = 'on'; };
          const transition = document.startViewTransition(change);
          transition.updateCallbackDone.then(() => say('changed')); transition.ready.then(() => say('ready'));
          transition.finished.then(() => say('finished')); }, 30);
        await advance(110); say('still'); await advance(100)""",
        "<style>::view-transition-group(*), ::view-transition-old(*), ::view-transition-new(*)"
        "{ animation-duration: 100ms } .on { margin-left: 50px }</style><p id=box>box",
    ) == [[50, "changed"], [50, "ready"], [110, "still"], [150, "finished"]]


def test_what_the_browser_does_aside_takes_no_time(script: Callable[..., Any]) -> None:
    """Databases, the history, broadcasts, permissions, and scrolling to a fragment or to the focus."""
    assert script(
        """
        const at = (ms, work) => setTimeout(work, ms);
        at(10, () => { const request = indexedDB.open('one', 1);
          request.onupgradeneeded = () => request.result.createObjectStore('store');
          request.onsuccess = () => { const change = request.result.transaction('store', 'readwrite');
            change.objectStore('store').put(1, 'key').onsuccess = () => say('put');
            change.oncomplete = () => say('complete'); }; });
        at(20, () => { addEventListener('popstate', () => say('back'), { once: true });
                       history.pushState(1, ''); history.back(); });
        at(30, () => { const here = new BroadcastChannel('x'), there = new BroadcastChannel('x');
                       there.onmessage = () => say('broadcast'); here.postMessage(1); });
        at(40, () => navigator.permissions.query({ name: 'geolocation' }).then(() => say('permission')));
        at(50, () => new OffscreenCanvas(1, 1).convertToBlob().catch(() => {}).then(() => say('canvas')));
        addEventListener('hashchange', () => say('fragment')); addEventListener('scroll', () => say('scroll'));
        at(60, () => { location.hash = 'low'; }); at(70, () => field.focus());
        await advance(100)""",
        "<input id=field><p style='margin: 2000px 0' id=low>low",
    ) == [
        [10, "put"], [10, "complete"], [20, "back"], [30, "broadcast"], [40, "permission"], [50, "canvas"],
        [60, "fragment"], [60, "scroll"], [70, "scroll"],
    ]  # fmt: skip


def test_dates_that_the_browser_stamps(script: Callable[..., Any]) -> None:
    assert script("""
        const { lastModified } = new File(['x'], 'x'), given = new File([], 'y', { lastModified: 7 });
        say(lastModified - Date.now(), given.lastModified, given instanceof File, given.constructor === File,
            document.lastModified, performance.mark('m').toJSON().navigationId ?? 1)""") == [
        [0, 0, 7, True, True, "01/01/2025 12:00:00", 1]
    ]  # fmt: skip


def test_what_a_page_cannot_move_stands(laboratory: Any) -> None:
    """Moving images and the bar of an unknown length would go on by themselves while the page waits."""
    moving = (
        "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='20'><rect width='9' height='9'>"
        "<animate attributeName='x' to='30' dur='0.3s' repeatCount='indefinite'/></rect></svg>"
    )
    page = laboratory.open(f'<img src="data:image/svg+xml,{moving.replace("#", "%23")}"><progress></progress>')

    async def pictures() -> set[bytes]:
        seen = {(await page.start("0", seed=0)).png}
        for _ in range(6):
            await asyncio.sleep(0.07)
            seen.add((await page.act([], advance_ms=0)).png)
        return seen

    assert len(laboratory.run(pictures())) == 1


def test_a_worker_that_throws_while_nothing_is_due_goes_on_with_the_clock(script: Callable[..., Any]) -> None:
    assert script("""
        const source = `onmessage = ({ data }) => {
          if (data === 'throw') throw new Error('once');
          setTimeout(() => postMessage(data), 40); };`;
        const worker = new Worker(URL.createObjectURL(new Blob([source])));
        worker.onerror = (event) => event.preventDefault();
        worker.onmessage = ({ data }) => say(data);
        worker.postMessage('throw'); await advance(10); worker.postMessage('go');
        await advance(30); say('not yet'); await advance(30)""") == [[40, "not yet"], [50, "go"]]


def test_children_are_numbered_by_the_page_and_not_by_when_they_arrive(
    laboratory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chance of a worker and of two frames of other origins, and the order of what all three say at one time: the same
    whether a frame or the script before the worker comes late."""
    frames = "".join(f"<iframe sandbox=allow-scripts src={number}.html></iframe>" for number in (1, 2))
    hear = "const log = [], hear = ({ data }) => log.push([performance.now(), ...data])"
    site = laboratory.site(f"""<script>{hear}; addEventListener('message', hear)</script>{frames}
      <script src=between.js></script><script>const worker = new Worker('3.js'); worker.onmessage = hear</script>""")
    say = "setInterval(() => {}, 50); setTimeout(() => post([NAME, Math.random()]), 60)"
    for number in (1, 2):
        post = "const post = (said) => parent.postMessage(said, '*')"
        script = f"<script>{post}; {say.replace('NAME', str(number))}</script>"
        (site.root / f"{number}.html").write_text(script)
    (site.root / "between.js").write_text("")
    (site.root / "3.js").write_text(f"const post = postMessage; {say.replace('NAME', '3')}")
    serve = isolation.serve

    def said(late: str) -> Any:
        async def serve_late(site: Any, hosts: Any, report: Any, route: Any) -> None:
            if late and late in route.request.url:
                await asyncio.sleep(0.7)
            await serve(site, hosts, report, route)

        monkeypatch.setattr(isolation, "serve", serve_late)
        page = laboratory.run(laboratory.manager.open_page(site))
        laboratory.run(page.start("log.length = 0", seed=5))
        laboratory.run(page.act([], advance_ms=30))
        return laboratory.run(page.act([], advance_ms=100, read="log")).data

    first = said("")
    assert [entry[0] for entry in first] == [60, 60, 60] and len({entry[2] for entry in first}) == 3
    assert said("1.html") == first and said("between.js") == first
