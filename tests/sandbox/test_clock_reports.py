"""Loads that no call of the page tells of take no virtual time, however long the site's answers take."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from PIL import Image
from playwright.async_api import Route

from tars_jax.sandbox.browser import Site, isolation
from tars_jax.sandbox.browser.page_events import Report
from tars_jax.sandbox.browser.site import PageSpec
from tars_jax.web.network import Hosts

pytestmark = pytest.mark.browser

PAGE = """<!doctype html><meta charset=utf-8><script src=classic.js></script>
<style>.on { background: url(picture.png) } .on::after { content: url(picture.png?2) }</style>
<body onload="console.log('http://clock.invalid is mine')">
<p id=out></p><p id=shown></p><iframe id=inner src=inner.html></iframe><script>
window.log = []; window.reports = 0;
document.addEventListener('securitypolicyviolation', () => reports++);
function note(...words) { log.push([...words, Math.round(performance.now())]); out.textContent = JSON.stringify(log); }
function take(name, label = name) {
  import(name).then((module) => note(label, module.x), (error) => note(label, error.name));
}
function add(tag, values) { return document.body.appendChild(Object.assign(document.createElement(tag), values)); }
const does = {
  10() { take('./outer.mjs'); },
  20() { take('./none.mjs'); },
  30() { take('./wrong.mjs'); },
  40() { take('http://elsewhere.example/x.mjs', 'elsewhere'); },
  50() { inner.contentWindow.take(); },
  60() { const script = add('script', { type: 'module', src: 'inserted.mjs' }); script.remove(); },
  70() {
    const text = "import 'http://sandbox.invalid/leaf.mjs?blob'; export const x = 'of a blob';";
    take(URL.createObjectURL(new Blob([text], { type: 'text/javascript' })), 'blob');
  },
  80() { take('./deep0.mjs'); },
  90() { take('./deep0.mjs'); }, // again: it needs no request
  100() { for (const [name, type] of [['worker.mjs', 'module'], ['worker.js', 'classic']]) setTimeout(() => {
    new Worker(name, { type }).onmessage = ({ data }) => note(name, ...data); }, 1 + name.length); },
  130() { shown.className = 'on'; },
  140() {
    add('style', { textContent: '@import "more.css"' });
    setTimeout(() => note(getComputedStyle(out).opacity), 1);
  },
};
window.start = () => {
  for (const [at, work] of Object.entries(does)) {
    setTimeout(work, at);
    setTimeout(() => note('next'), Number(at) + 1);
  }
};
</script>"""
FILES = {
    "classic.js": "self.classic = 1",
    "inner.html": "<script>function take() { import('./inner.mjs').then(({ x }) => parent.note('inner', x)) }</script>",
    "inner.mjs": "export * from './leaf.mjs?inner'",
    "outer.mjs": "import './middle.mjs'; note('outer runs'); export const x = 1;",
    "middle.mjs": "const { x } = await import('./leaf.mjs'); note('middle runs', x);",
    "leaf.mjs": "await new Promise((resolve) => setTimeout(resolve, 3)); export const x = 'leaf';",
    "wrong.mjs": "import (",
    "inserted.mjs": "import './deep8.mjs?a'; import('./deep8.mjs?b').then(({ x }) => note('inserted', x))",
    **{f"deep{index}.mjs": f"import './deep{index + 1}.mjs'; export const x = 'deep';" for index in range(9)},
    "deep9.mjs": "",
    "worker.mjs": "import './deep8.mjs?c'; " + (ASKING := "setTimeout(() => import('./deep8.mjs?d').then(({ x }) => "
                  "postMessage([x, Math.round(performance.now())])), 3); setTimeout(() => postMessage(['next']), 4)"),
    "worker.js": f"importScripts('classic.js'); {ASKING}".replace("?d", "?e"),
    "more.css": "#out { opacity: .5 }",
}  # fmt: skip
NEXT = [["next", at + 1] for at in (10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 130, 140)]
EXPECTED = [
    NEXT[0], ["middle runs", "leaf", 13], ["outer runs", 13], ["./outer.mjs", 1, 13],
    ["./none.mjs", "TypeError", 20], NEXT[1],
    ["./wrong.mjs", "SyntaxError", 30], NEXT[2],
    ["elsewhere", "TypeError", 40], NEXT[3],
    NEXT[4], ["inner", "leaf", 53],
    ["inserted", "deep", 60], NEXT[5],
    NEXT[6], ["blob", "of a blob", 73],
    ["./deep0.mjs", "deep", 80], NEXT[7],
    ["./deep0.mjs", "deep", 90], NEXT[8],
    NEXT[9], ["worker.js", "deep", 3, 113], ["worker.js", "next", 114],
    ["worker.mjs", "deep", 3, 114], ["worker.mjs", "next", 115],
    NEXT[10], NEXT[11], ["0.5", 141],
]  # fmt: skip


@pytest.fixture
def site(laboratory: Any) -> Site:
    site: Site = laboratory.site("")
    for name, text in {"index.html": PAGE, **FILES}.items():
        (site.root / name).write_text(text)
    Image.effect_noise((700, 700), 50).save(site.root / "picture.png")
    return site


@pytest.fixture
def slow_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    serve: Callable[..., Awaitable[None]] = isolation.serve

    async def serve_late(site: Site, hosts: Hosts, report: Report | None, route: Route) -> None:
        await asyncio.sleep(random.uniform(0, 0.03))
        await serve(site, hosts, report, route)

    monkeypatch.setattr(isolation, "serve", serve_late)


@pytest.mark.usefixtures("slow_answers")
def test_what_nobody_tells_of_takes_no_time(laboratory: Any, site: Site) -> None:
    told: list[tuple[str, dict[str, Any]]] = []

    async def episode() -> tuple[str, list[bytes]]:
        page = await laboratory.manager.open(PageSpec(site, 640, 480), lambda kind, what: told.append((kind, what)))
        await page.start("start()", seed=0)
        steps = [await page.act([], advance_ms=7, read="[log, reports]") for _ in range(22)]
        await page.close()
        return json.dumps(steps[-1].data), [step.png for step in steps]

    async def episodes() -> list[tuple[str, list[bytes]]]:
        return [one for _ in range(2) for one in await asyncio.gather(*(episode() for _ in range(3)))]

    seen = laboratory.run(episodes())
    assert json.loads(seen[0][0]) == [EXPECTED, 0]
    assert all(one == seen[0] for one in seen)
    said = {what["level"]: what["text"] for kind, what in told if kind == "console"}
    assert said.keys() == {"error", "log"} and said["log"] == "http://clock.invalid is mine"  # requests fail


def test_a_page_hears_the_reports_of_its_own_policy(laboratory: Any) -> None:
    page = laboratory.open("""<meta http-equiv=Content-Security-Policy content="script-src-elem 'unsafe-inline'">
      <script>window.heard = []; document.addEventListener('securitypolicyviolation', ({ originalPolicy }) =>
        heard.push(originalPolicy)); setTimeout(() => import('./a.mjs').catch(({ name }) => heard.push(name)), 5);
      </script>""")
    seen = laboratory.run(page.act([], advance_ms=20, read="heard")).data
    assert "TypeError" in seen and set(seen) == {"TypeError", "script-src-elem 'unsafe-inline'"}
