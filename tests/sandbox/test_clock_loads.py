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
    ],
)
def test_what_will_never_load_is_not_waited_for(laboratory: Any, site: Site, change: str) -> None:
    page = laboratory.run(laboratory.manager.open_page(site))
    laboratory.run(page.evaluate(f"void setTimeout(() => {{ {change} }}, 10)"))
    began = time.monotonic()
    laboratory.run(page.act([], advance_ms=20))
    assert time.monotonic() - began < 4  # loads.js gives a load up after 5 s
