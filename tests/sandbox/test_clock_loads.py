"""What a page asks for anew by an attribute is there before time goes on, and what no longer loads holds nothing up."""

from __future__ import annotations

import time
from typing import Any

import pytest
from PIL import Image

from tars_jax.sandbox.browser import Site

pytestmark = pytest.mark.browser

ASKING = {
    "an image's attribute": "still.setAttribute('src', 'two.png')",
    "an image's set": "still.srcset = 'two.png 1x'",
    "a source of a picture": "source.setAttribute('srcset', 'two.png')",
    "an image of a drawing": "drawn.setAttribute('href', 'two.png')",
    "a style sheet": "sheet.href = 'two.css'",
    "a style sheet that was loaded ahead": "ahead.rel = 'stylesheet'",
}
PAGE = """<!doctype html><body><link id=sheet rel=stylesheet href=one.css><img id=still src=one.png>
  <link id=ahead rel=preload as=style href=two.css><svg><image id=drawn href=one.png></image></svg>
  <picture><source id=source srcset=one.png><img id=pictured src=one.png></picture><script>window.log = [];
  for (const type of ['load', 'error'])
    document.addEventListener(type, ({ target }) => log.push([target.id, Math.round(performance.now())]), true);
  function look() { return [still.naturalWidth, pictured.naturalWidth, getComputedStyle(document.body).opacity]; }
  function insert(tag, values) { return document.body.appendChild(Object.assign(document.createElement(tag), values)); }
  </script>"""
SEEN = {  # image, picture and the body's opacity right after a change
    "an image's attribute": [2, 1, "1"],
    "an image's set": [2, 1, "1"],
    "a source of a picture": [1, 2, "1"],
    "an image of a drawing": [1, 1, "1"],
    "a style sheet": [1, 1, "0.5"],
    "a style sheet that was loaded ahead": [1, 1, "0.5"],
}


@pytest.fixture
def site(laboratory: Any) -> Site:
    site = laboratory.site("")
    (site.root / "index.html").write_text(PAGE)
    for width, name in enumerate(("one.png", "two.png"), 1):
        Image.effect_noise((width, 10_000), 50).save(site.root / name)
    (site.root / "one.css").write_text("body { opacity: 1 }")
    (site.root / "one.zip").write_text("")
    (site.root / "two.css").write_text("body { opacity: .5 }" + " " * 1_000_000)
    return site


@pytest.mark.parametrize("name", ASKING)
def test_what_an_attribute_asks_for_takes_no_time(laboratory: Any, site: Site, name: str) -> None:
    page = laboratory.run(laboratory.manager.open_page(site))
    laboratory.run(page.start("log.length = 0", seed=0))
    change = f"void setTimeout(() => {{ {ASKING[name]}; setTimeout(() => {{ window.seen = look(); }}, 1); }}, 10)"
    laboratory.run(page.evaluate(change))
    seen, log = laboratory.run(page.act([], advance_ms=20, read="[seen, log]")).data
    assert seen == SEEN[name] and {at for _, at in log if at} == {10}


@pytest.mark.parametrize(
    "change",
    [
        "insert('link', { rel: 'stylesheet', href: 'two.css' }).remove()",
        "insert('iframe', { src: 'one.css' }).remove()",
        "still.src = 'two.png'; queueMicrotask(() => still.removeAttribute('src'))",
        "sheet.media = 'print'; sheet.href = 'one.css'; still.loading = 'lazy'; still.src = 'none.png'",
        "insert('div', { innerHTML: '<script src=one.js></' + 'script>' })",
        "for (const type of ['text/template', 'speculationrules']) insert('script', { type, src: 'one.js' })",
        "insert('script', { noModule: true, src: 'one.js' })",
        "insert('link', { rel: 'stylesheet', type: 'text/less', href: 'one.css' })",
        "insert('link', { rel: 'dns-prefetch icon', href: 'one.png' })",
        "for (const src of ['mailto:a@b.c', 'javascript:0', 'about:blank']) insert('iframe', { src })",
        "const image = new Image(); image.src = 'two.png'; image.removeAttribute('src')",
        "insert('object', { type: 'x/y' }); insert('embed', {}); insert('input', { type: 'image' })",
        "insert('video', { preload: 'none', src: 'none.webm' })",
        "insert('iframe', { sandbox: '', srcdoc: 'x' })",
        "for (const host of ['other.example', 'sandbox.invalid']) insert('iframe', { src: `blob:http://${host}/7` })",
        "insert('iframe', { sandbox: '', src: 'one.zip' }); insert('iframe', { src: 'data:application/zip,x' })",
        "insert('iframe', { src: URL.createObjectURL(new Blob(['x'], { type: 'application/zip' })) })",
        "insert('object', { type: 'x/y', data: 'x.y' }); insert('object', { data: 'one.zip' })",
        "insert('iframe', { src: 'one.html' }); window.stop()",
        "const asks = new XMLHttpRequest(); for (const name of ['two', 'one']) asks.open('GET', name), asks.send()",
    ],
)
@pytest.mark.first(6)
def test_what_will_never_load_is_not_waited_for(laboratory: Any, site: Site, change: str) -> None:
    page = laboratory.run(laboratory.manager.open_page(site))
    quiet_s = seconds_of_an_act(laboratory, page)
    laboratory.run(page.evaluate(f"void setTimeout(() => {{ {change} }}, 10)"))
    assert seconds_of_an_act(laboratory, page) < quiet_s + 4  # loads.js gives a load up after 5 s


def seconds_of_an_act(laboratory: Any, page: Any) -> float:
    began = time.monotonic()
    laboratory.run(page.act([], advance_ms=20))
    return time.monotonic() - began


LOADING = {
    "lazy frame": "heard('iframe', { loading: 'lazy', src: 'one.css' })",
    "lazy image": "heard('img', { loading: 'lazy', src: 'two.png' })",
    "object": "heard('object', { data: 'two.png' })",
    "embedded": "heard('embed', { src: 'two.png' })",
    "button": "heard('input', { type: 'image', src: 'two.png' })",
    "preload": "heard('link', { rel: 'preload', as: 'fetch', crossOrigin: '', href: 'two.css?preload' })",
    "missing preload": "heard('link', { rel: 'preload', as: 'image', href: 'none.png' })",
    "module": "heard('link', { rel: 'modulepreload', href: 'one.js' })",
    "video": "heard('video', { src: 'none.webm' })",
    "not a video": "heard('video', { src: 'one.png' })",
    "sound": "const sound = new Audio('none.wav'); sound.onerror = () => note()",
    "source": "const video = insert('video', {}); hear(Object.assign(document.createElement('source'), "
    "{ src: 'none.webm' }), video)",
    "track": "const video = insert('video', {}); hear(Object.assign(document.createElement('track'), "
    "{ src: 'none.vtt', default: true }), video)",
    "events": "new EventSource('one.css').onerror = note",
    "JSON": "import('./one.json', { with: { type: 'json' } }).then(note)",
    "styles": "import('./two.css', { with: { type: 'css' } }).then(note)",
    "stream": "(async () => { for await (const part of (await fetch('two.css')).body); note(); })()",
    "blob": "(async () => { for await (const part of new Blob([new Uint8Array(2_000_000)]).stream()); note(); })()",
}
HEARD = """function note() { noted.push(Math.round(performance.now())); }
  function hear(one, parent) { one.onload = one.onerror = note; parent.prepend(one); }
  function heard(tag, values) { hear(Object.assign(document.createElement(tag), values), document.body); }"""


def test_what_loads_takes_no_time(laboratory: Any, site: Site) -> None:
    (site.root / "one.json").write_text("1")
    (site.root / "one.js").write_text("")
    page = laboratory.run(laboratory.manager.open_page(site))
    laboratory.run(page.start("0", seed=0))
    laboratory.run(page.evaluate(f"document.head.append(Object.assign(document.createElement('script'), "
                                 f"{{ textContent: `window.noted = []; {HEARD}` }}))"))  # fmt: skip
    for index, change in enumerate(LOADING.values()):
        laboratory.run(page.evaluate(f"void setTimeout(() => {{ {change} }}, {10 * index + 10})"))
    noted = laboratory.run(page.act([], advance_ms=10 * len(LOADING) + 20, read="noted")).data
    assert sorted(set(noted)) == [10 * index + 10 for index in range(len(LOADING))]
