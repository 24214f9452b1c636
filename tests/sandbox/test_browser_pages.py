"""Input, pictures and the closed network of a page."""

from __future__ import annotations

import asyncio
import http.server
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tars_jax.sandbox.browser import (
    InputEvent,
    InsertText,
    KeyDown,
    KeyUp,
    MouseDown,
    MouseMove,
    MouseUp,
    Page,
    PageError,
    Site,
    Wheel,
)
from tars_jax.sandbox.browser.events import InputDevices, event_batches
from tars_jax.sandbox.browser.sessions.specs import spec_from_json, spec_to_json
from tars_jax.sandbox.browser.site import PageSpec

pytestmark = pytest.mark.browser

LISTENER = """<body style="margin:0; height: 400px">
  <input id=field style="position:absolute; top:0; left:0; width:90px">
  <script>window.log = [];
  for (const type of ['mousedown', 'mouseup', 'click', 'dblclick', 'contextmenu', 'wheel', 'keydown', 'keyup', 'input',
                      'mousemove'])
    addEventListener(type, (event) => { log.push([type, event.isTrusted, event.clientX, event.clientY, event.button,
      event.buttons, event.key ?? event.data ?? event.deltaY, event.shiftKey || event.ctrlKey]); });</script>"""


def listen(laboratory: Any, events: Sequence[InputEvent]) -> list[list[Any]]:
    page = laboratory.open(LISTENER)
    laboratory.run(page.start("log.length = 0", seed=0))
    log = laboratory.run(page.act(events, advance_ms=50, read="log")).data
    assert all(entry[1] for entry in log), "an event is not trusted"
    return log


def test_mouse_buttons_and_double_click(laboratory: Any) -> None:
    log = listen(
        laboratory, [MouseDown(40, 60), MouseUp(40, 60), MouseDown(40, 60, clicks=2), MouseUp(40, 60, clicks=2)]
    )
    assert [entry[0] for entry in log] == ["mousedown", "mouseup", "click", "mousedown", "mouseup", "click", "dblclick"]
    assert log[0][2:6] == [40, 60, 0, 1] and log[1][5] == 0
    right = listen(laboratory, [MouseDown(10, 80, "right"), MouseUp(10, 80, "right")])
    assert [(entry[0], entry[4]) for entry in right] == [("mousedown", 2), ("contextmenu", 2), ("mouseup", 2)]


def test_a_press_hits_what_the_move_before_it_has_shown(laboratory: Any) -> None:
    page = laboratory.open(
        """<body style="margin:0"><style>div { position: absolute; width: 80px; height: 80px }
        #under:hover + #over, #over:hover { left: 0 } #over { left: 200px; background: red }</style>
        <div id=under></div><div id=over></div><script>window.log = [];
        for (const type of ['mousedown', 'mouseup', 'click'])
          addEventListener(type, (event) => { log.push(`${type} ${event.target.id}`); });</script>"""
    )
    click = [MouseMove(30, 30), MouseDown(30, 30), MouseUp(30, 30)]
    log = laboratory.run(page.act(click, advance_ms=0, read="log")).data
    assert log == ["mousedown over", "mouseup over", "click over"]


def test_a_drag_holds_its_button_and_keeps_every_move(laboratory: Any) -> None:
    path = [MouseMove(10 + 10 * i, 50 + 2 * i) for i in range(7)]
    log = listen(laboratory, [MouseMove(10, 50), MouseDown(10, 50), *path[1:], MouseUp(70, 62)])
    assert [entry[0] for entry in log] == ["mousemove", "mousedown", *["mousemove"] * 6, "mouseup", "click"]
    assert [entry[5] for entry in log[2:8]] == [1] * 6 and log[7][2:4] == [70, 62]


def test_wheel_scrolls_at_once(laboratory: Any) -> None:
    page = laboratory.open(LISTENER)
    laboratory.run(page.start("log.length = 0", seed=0))
    read = "[scrollY, log.map((entry) => [entry[0], entry[6]])]"
    assert laboratory.run(page.act([Wheel(40, 60, 0, 120)], advance_ms=50, read=read)).data == [120, [["wheel", 120]]]
    assert laboratory.run(page.act([Wheel(40, 60, 0, -500)], advance_ms=50, read=read)).data[0] == 0


def test_keyboard_with_modifiers_and_text(laboratory: Any) -> None:
    page = laboratory.open(LISTENER)
    laboratory.run(page.start("field.focus()", seed=0))

    def keys(*names: str) -> list[InputEvent]:
        return [event for name in names for event in (KeyDown(name), KeyUp(name))]

    def value(events: Sequence[InputEvent]) -> str:
        return laboratory.run(page.act(events, advance_ms=50, read="field.value")).data

    assert value(keys("a", "B", "1", " ", "!", "Backspace")) == "aB1 "
    assert value([KeyDown("Shift"), *keys("x", "2"), KeyUp("Shift")]) == "aB1 X@"
    assert value([InsertText("grüße 你好")]) == "aB1 X@grüße 你好"
    assert value([KeyDown("Control"), *keys("a"), KeyUp("Control"), *keys("Delete", "z")]) == "z"
    assert value(keys("ArrowLeft", "y", "End", "F5", "Tab")) == "yz"
    log = laboratory.run(page.evaluate("log.filter((entry) => entry[0] === 'keydown').map((entry) => entry[6])"))
    assert log[-3:] == ["End", "F5", "Tab"]


def test_nothing_stays_held_over_a_start(laboratory: Any) -> None:
    page = laboratory.open(LISTENER)
    laboratory.run(page.act([MouseDown(40, 60), KeyDown("Shift")], advance_ms=0))
    laboratory.run(page.start("log.length = 0", seed=0))
    log = laboratory.run(page.act([MouseMove(50, 60), KeyDown("a")], advance_ms=0, read="log")).data
    assert [(entry[0], entry[5], entry[6], entry[7]) for entry in log] == [
        ("mousemove", 0, None, False), ("keydown", None, "a", False)
    ]  # fmt: skip


def test_a_click_has_had_its_effect_before_the_step_is_read(laboratory: Any) -> None:
    """500 clicks over four pages at once; each step must read exactly its own number of clicks."""
    html = "<script>window.count = 0; addEventListener('click', () => { count += 1; });</script>"
    pages = [laboratory.open(html, single_canvas=False) for _ in range(4)]

    async def click(page: Page) -> list[int]:
        counts, devices, session = [], InputDevices(), await page.connection.attach(page.target)
        for _ in range(125):
            for batch in event_batches(devices.commands([MouseMove(30, 30), MouseDown(30, 30), MouseUp(30, 30)])):
                await asyncio.gather(*(session.send(*command) for command in batch))
            counts.append(await page.evaluate("count"))
        return counts

    async def together() -> list[list[int]]:
        return await asyncio.gather(*(click(page) for page in pages))

    assert laboratory.run(together()) == [list(range(1, 126))] * 4


COUNTER = """<body style="margin:0"><canvas id=c width=96 height=96 style="display:block"></canvas><script>
  const context = c.getContext('2d', {alpha: false}); let count = 0;
  function draw() { for (let bit = 0; bit < 12; bit++) { context.fillStyle = count >> bit & 1 ? '#fff' : '#000';
    context.fillRect(bit * 8, 0, 8, 96); } }
  addEventListener('mousedown', () => { count += 1; requestAnimationFrame(draw); });
  window.game = {canvas: c, start() { count = 0; draw(); }};</script>"""


def test_pictures_are_never_stale(laboratory: Any) -> None:
    for path in ("canvas", "frame" if laboratory.gives_frames else "cdp"):
        page = laboratory.open(COUNTER, single_canvas=path == "canvas")

        async def shown(page: Any = page) -> list[int]:
            await page.start("game.start()", seed=0)
            numbers = []
            for _ in range(150):
                observation = await page.act([MouseDown(5, 5), MouseUp(5, 5)], advance_ms=20)
                bits = observation.pixels[48, 4::8, 0] > 127
                numbers.append(int(sum(int(bit) << place for place, bit in enumerate(bits))))
            return numbers

        assert laboratory.run(shown()) == list(range(1, 151))
        assert page.screenshot_path == path


def test_what_a_page_gives_all_objects_is_not_in_an_observation(laboratory: Any) -> None:
    page = laboratory.open("<script>Object.prototype.then = function (resolve) { resolve(1) }</script>")
    laboratory.run(page.start("0", seed=0))
    assert laboratory.run(page.act([], advance_ms=20, read="performance.now()")).data == 20


@pytest.mark.parametrize(
    "forgery",
    [
        "HTMLCanvasElement.prototype.toDataURL = () => 5",
        "game.canvas = { width: 96, height: 96, toDataURL: () => 'data:image/png;base64,@' }",
        "c.toDataURL = () => other.toDataURL()",
    ],
)
def test_a_page_cannot_put_another_picture_in_the_place_of_its_canvas(laboratory: Any, forgery: str) -> None:
    page = laboratory.open(
        f"""<body style="margin: 0"><canvas id=c width=96 height=96 style="display: block"></canvas><script>
        const other = document.createElement('canvas'), game = window.game = {{ canvas: c }};
        other.width = other.height = 96;
        const brush = c.getContext('2d', {{ alpha: false }});
        brush.fillStyle = '#f00';
        brush.fillRect(0, 0, 96, 96);
        setTimeout(() => {{ {forgery}; }}, 10);</script>""",
        single_canvas=True,
    )
    honest = laboratory.run(page.start("0", seed=0))
    assert np.array_equal(laboratory.run(page.act([], advance_ms=20)).pixels, honest.pixels)


def test_a_canvas_that_is_not_the_whole_screen_is_not_read_back(laboratory: Any) -> None:
    covered = COUNTER + '<div style="position:absolute; top:0; width:20px; height:20px; background:red"></div>'
    for html in (
        covered,
        COUNTER.replace("width=96", "width=80"),
        COUNTER.replace("<canvas", "<p>").replace("c.get", "0 && c.get"),
    ):
        page = laboratory.open(html, single_canvas=True)
        observation = laboratory.run(page.start("0", seed=0))
        assert page.screenshot_path == "cdp" and observation.pixels.shape == (96, 96, 3)
    assert laboratory.manager.stats.given_up["canvas"] >= 3


def test_a_refused_path_falls_back_to_the_plain_one(laboratory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    page = laboratory.open("<body style='background: #0f0'>")
    send = page.connection.send

    async def refusing(method: str, params: dict[str, Any] | None = None, session: str | None = None) -> dict[str, Any]:
        pictured = method == "Page.captureScreenshot" or (params and "screenshot" in params)
        return await send("Page.noSuchCommand" if pictured else method, params, session)

    monkeypatch.setattr(page.connection, "send", refusing)
    observation = laboratory.run(page.act([], advance_ms=0))
    assert page.screenshot_path == "plain" and (observation.pixels == [0, 255, 0]).all()


def test_scripts_that_raise_are_the_pages_fault(laboratory: Any) -> None:
    page = laboratory.open("")
    for expression in (
        "nothing.here",
        "(() => { throw new TypeError('no') })()",
        "Promise.reject(new Error('late'))",
        "1 +",
    ):
        with pytest.raises(PageError):
            laboratory.run(page.evaluate(expression))
    assert laboratory.run(page.evaluate("1 + 1")) == 2 and page.failure is None


def test_expressions_may_end_in_a_comment(laboratory: Any) -> None:
    page = laboratory.open("")
    begun = laboratory.run(page.start("window.began = 3 // once", seed=1, read="began // then"))
    assert begun.data == 3


def test_dialogs_are_dismissed_and_popups_closed(laboratory: Any) -> None:
    page = laboratory.open(
        "<button id=b onclick='window.answers = [confirm(), prompt(), alert()]; window.open(\"/\")'>b"
    )
    read = "window.answers"
    place = laboratory.run(page.evaluate("b.getBoundingClientRect().toJSON()"))
    x, y = place["x"] + 4, place["y"] + 4
    assert laboratory.run(page.act([MouseDown(x, y), MouseUp(x, y)], advance_ms=0, read=read)).data == [
        False,
        None,
        None,
    ]
    laboratory.run(asyncio.sleep(0.3))
    assert len(page.context.pages) == 1
    assert laboratory.run(page.evaluate("1")) == 1


def test_dialogs_are_accepted_where_the_spec_says_so(laboratory: Any) -> None:
    spec = PageSpec(laboratory.site(""), 96, 96, accepts_dialogs=True)
    assert spec_from_json(spec_to_json(spec)) == spec
    heard: list[dict[str, Any]] = []
    page = laboratory.run(laboratory.manager.open(spec, lambda kind, said: heard.append({"kind": kind, **said})))
    answers = "[confirm('Delete it?'), prompt('Name', 'Ada'), alert()]"
    assert laboratory.run(page.evaluate(answers)) == [True, "Ada", None]
    asked = [each for each in heard if each["kind"] == "dialog"]
    assert [each["answer"] for each in asked] == ["accepted"] * 3 and asked[0]["text"] == "Delete it?"


def test_the_network_is_closed(laboratory: Any, tmp_path: Path) -> None:
    reached: list[str] = []

    class Server(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            reached.append(self.path)
            self.send_response(200)
            self.end_headers()

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    page = laboratory.open("")
    attempt = """(async (port) => { const results = [];
      for (const url of [`http://127.0.0.1:${port}/`, `http://localhost:${port}/`, 'http://example.com/',
                         'file:///etc/passwd', 'http://sandbox.invalid/..%2f..%2f..%2f..%2f..%2fetc/passwd',
                         'http://sandbox.invalid/nothing', `http://sandbox.invalid/${'x'.repeat(300)}`])
        results.push(await fetch(url).then((response) => response.status, () => 'refused'));
      for (const host of ['127.0.0.1', 'localhost'])
        results.push(await new Promise((resolve) => { const socket = new WebSocket(`ws://${host}:${port}/`);
          socket.onopen = () => resolve('open'); socket.onerror = () => resolve('refused'); }));
      const image = new Image();
      results.push(await new Promise((resolve) => { image.onload = image.onerror = (event) => resolve(event.type);
        image.src = `http://127.0.0.1:${port}/image`; }));
      return results; })(PORT)""".replace("PORT", str(port))
    try:
        assert laboratory.run(page.evaluate(attempt)) == [
            *["refused"] * 4,
            404,
            404,
            404,
            "refused",
            "refused",
            "error",
        ]
    finally:
        server.shutdown()
    assert reached == []


def test_files_outside_the_root_are_refused(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (root / "index.html").write_text("page")
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    site = Site(root)
    assert site.find("http://sandbox.invalid/index.html?a=1#b") == root / "index.html"
    for url in ("/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/link.txt", "/", "//secret.txt", "/%00"):
        assert site.find(f"http://sandbox.invalid{url}") is None
    for url in (
        "https://sandbox.invalid/index.html",
        "http://sandbox.invalid.example/index.html",
        "file:///etc/passwd",
    ):
        assert site.find(url) is None


def test_a_mounted_folder_is_reached_by_its_name_and_not_left(tmp_path: Path) -> None:
    for name in ("root", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_text(name)
    (tmp_path / "other" / "more.html").write_text("more")
    site = Site(tmp_path / "root", mounts=(("shelf", tmp_path / "other"),))
    assert site.find("http://sandbox.invalid/index.html") == tmp_path / "root" / "index.html"
    assert site.find("http://sandbox.invalid/shelf/more.html?a=1") == tmp_path / "other" / "more.html"
    for url in ("/more.html", "/other/more.html", "/shelf", "/shelf/../root/index.html", "/shelf/%2e%2e/more.html"):
        assert site.find(f"http://sandbox.invalid{url}") is None
