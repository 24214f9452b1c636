"""Documents that a page writes anew, and ways that lead to none: the clock goes on."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tars_jax.sandbox.browser import InputEvent, MouseDown, MouseMove, MouseUp

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("end", ["document.close()", ""])
def test_time_goes_on_through_a_document_written_anew(laboratory: Any, end: str) -> None:
    page = laboratory.open(f"""<script>setTimeout(() => {{ document.open(); document.write('<p>written'); {end} }}, 20);
      setTimeout(() => location.assign('#here'), 30); setTimeout(() => location.assign('index.html?next'), 40);</script>
      """)
    laboratory.run(page.start("0", seed=0))
    read = "[Date.now() - __clock.EPOCH_MS, document.body.textContent.trim(), document.adoptedStyleSheets.length]"
    seen = laboratory.run(page.act([], advance_ms=30, read=read)).data
    assert seen[:2] == [30, "written"] and seen[2] == 1
    assert laboratory.run(page.act([], advance_ms=20, read=f"[...{read}, location.search]")).data[::3] == [50, "?next"]


@pytest.mark.parametrize("address", ["mailto:a@b.example", "tel:112", "unknown:x"])
def test_an_address_for_another_program_takes_nobody_away(laboratory: Any, address: str) -> None:
    page = laboratory.open(f"""<iframe id=f srcdoc=x></iframe><script>
      setTimeout(() => {{ location = '{address}'; }}, 5);
      setTimeout(() => {{ f.contentWindow.location = '{address}'; }}, 10);</script>""")
    began = time.monotonic()
    assert laboratory.run(page.act([], advance_ms=20, read="performance.now()")).data == 20
    first_s = time.monotonic() - began
    laboratory.run(page.act([], advance_ms=20))
    quiet_s = time.monotonic() - began - first_s
    assert first_s < quiet_s + 8  # page.js gives a navigation up after 10 s


def test_a_page_may_declare_any_name_at_its_top_level(laboratory: Any) -> None:
    """Each global name that can be declared anew is a class of the page's own here, which does nothing right."""
    page = laboratory.open("""<div id=box style='width:9px'></div><script>
      var g = globalThis, log = [];
      new ResizeObserver(() => log.push('sized')).observe(box);
      var names = Object.getOwnPropertyNames(g).filter((name) =>
        Object.getOwnPropertyDescriptor(g, name).configurable && !/^(globalThis|eval)$/.test(name) &&
        (() => { try { return new Function(`class ${name} {}`); } catch (reserved) { return false; } })());
      var part = document.createElement('script');
      part.textContent = names.map((name) => `class ${name} {}`).join(';');
      document.head.append(part);
    </script><script>
      g.setTimeout(() => log.push(g.performance.now()), 20);
      g.setTimeout(() => { g.box.style.width = '20px'; }, 30);
      g.requestAnimationFrame(() => log.push('frame'));
      g.setTimeout(() => {
        g.box.animate([{ opacity: 0 }, { opacity: 1 }], 20).onfinish = () => log.push('played');
      }, 40);
      g.setTimeout(() => g.fetch('index.html').then((one) => one.text()).then(
        () => log.push(g.performance.now())), 70);
    </script>""")
    laboratory.run(page.start("0", seed=3))
    seen = laboratory.run(page.act([], advance_ms=100, read="[log, names.length, !Promise.prototype.then]")).data
    assert seen[0] == ["sized", "frame", 20, "sized", "played", 70]
    assert seen[1] > 500 and seen[2]


def test_what_a_page_does_to_names_and_prototypes_breaks_no_step(laboratory: Any) -> None:
    """Elements with the names of methods, globals of another kind, wrapped and broken methods, polluted prototypes."""
    page = laboratory.open("""<style>@keyframes go { to { opacity: .5 } } #box { animation: go 50ms }</style>
      <form id=form onclick="say('click')" style='position: absolute; left: 0; top: 0; width: 90px; height: 90px'>
        <input name=matches><input name=querySelector><input name=querySelectorAll><input name=parentElement>
        <input name=isConnected><input name=shadowRoot><input name=getAttributeNS><input name=nodeType>
        <div id=box style='width: 9px'></div></form>
      <img name=getAnimations><img name=querySelector><img name=activeElement><iframe name=frames srcdoc=x></iframe>
      <script>
        var scrollX = 3, innerWidth = 'x', log = [], say = (what) => log.push(`${performance.now()} ${what}`);
        const fail = () => { throw new Error('the page has broken this'); };
        const { addEventListener } = EventTarget.prototype;
        EventTarget.prototype.addEventListener = function (type, heard, ...options) {
          return addEventListener.call(this, type, (...values) => heard.apply(this, values), ...options);
        };
        new ResizeObserver(() => say('size')).observe(box);
        box.onanimationend = () => say('end');
        setTimeout(() => say('timer'), 20);
        setTimeout(() => { box.style.width = '20px'; }, 120);
        Map.prototype.get = Set.prototype.has = fail;
        Element.prototype.getBoundingClientRect = MessagePort.prototype.postMessage = fail;
        Object.assign(Object.prototype, { get: 1, set: 2, value: 3 });
        Array.prototype.toJSON = () => 'array';
      </script>""")
    press: list[InputEvent] = [MouseMove(80, 80), MouseDown(80, 80), MouseUp(80, 80)]
    for _ in range(2):  # a second start lets the timer, and all else, keep what is left
        laboratory.run(page.start("0", seed=3))
        laboratory.run(page.act(press, advance_ms=10))
    seen = laboratory.run(page.act([], advance_ms=190, read="log.join()")).data
    assert seen.split(",") == ["0 size", "0 click", "0 click", "10 timer", "50 end", "110 size"]
